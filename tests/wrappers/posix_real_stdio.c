/*
 * What a preloaded library sees little of: scanf, getc and putc as the compiler inlines them, output left to exit.
 * Reads `text` and `numbers`, writes `out` and standard output.
 */
#include <stdio.h>

int main(void)
{
    int i;
    double number;
    char word[100];
    long n = 0;
    FILE *f = fopen("numbers", "r");
    while (fscanf(f, "%d %lf", &i, &number) == 2)
        n += i;
    rewind(f);
    while (fscanf(f, "%99s", word) == 1)
        n++;
    fclose(f);
    f = fopen("text", "r");
    while (getc_unlocked(f) != EOF)
        n++;
    fclose(f);
    f = popen("cat text", "r");
    while (fscanf(f, "%99s", word) == 1)
        n++;
    pclose(f);
    f = fopen("out", "w");
    for (i = 0; i < 100000; i++) {
        putc_unlocked('a' + i % 26, f);
        if (i % 1000 == 0)
            fprintf(f, "%d\n", i);
    }
    fclose(f);
    printf("%ld\n", n);
    for (i = 0; i < 5000; i++)
        putchar_unlocked('x');
    return 0;
}
