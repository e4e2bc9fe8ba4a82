/* Streams without a descriptor, for tools that watch what is read before it was written. */
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

int main(void)
{
    char *text, room[40];
    wchar_t *wide;
    size_t size;
    int number = 0;
    FILE *file = open_memstream(&text, &size);
    fputs("open", file);
    putc_unlocked('_', file);
    fprintf(file, "memstream %d", 1);
    fclose(file);
    puts(text);
    free(text);
    file = open_wmemstream(&wide, &size);
    fputws(L"wide", file);
    fclose(file);
    free(wide);
    file = fmemopen(room, sizeof room, "w+");
    fputs("12 34", file);
    rewind(file);
    int read = fscanf(file, "%d", &number);
    ungetc('5', file);
    fclose(file);
    printf("%d: %d\n", read, number);
    return 0;
}
