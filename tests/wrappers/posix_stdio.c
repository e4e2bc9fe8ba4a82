/*
 * Every function of the stdio layer, under every name, with known amounts.
 *
 *     posix_stdio DIRECTORY       standard input: at least 8 characters, then "7 8 9 10\n"
 */
#include <stdarg.h>
#include <stdlib.h>

#undef fread_unlocked
#undef fwrite_unlocked

#include "posix_expect.h"

/* Names that no header declares, or declares as macros or under other symbols. */
int c99_fscanf(FILE *, const char *, ...) __asm__("__isoc99_fscanf");
int c99_scanf(const char *, ...) __asm__("__isoc99_scanf");
int c99_vfscanf(FILE *, const char *, va_list) __asm__("__isoc99_vfscanf");
int c99_vscanf(const char *, va_list) __asm__("__isoc99_vscanf");
int old_vscanf(const char *, va_list) __asm__("vscanf");
int old_fscanf(FILE *, const char *, ...) __asm__("fscanf");
int old_scanf(const char *, ...) __asm__("scanf");
int old_vfscanf(FILE *, const char *, va_list) __asm__("vfscanf");
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
char *__fgets_chk(char *, size_t, int, FILE *);
char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);
int _IO_getc(FILE *);
int _IO_putc(int, FILE *);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);

static char buf[8192];

static void v_forms(FILE *f, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    DO(vfprintf, 5, 0, vfprintf(f, format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vfprintf, 5, 0, __vfprintf_chk(f, 1, format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vprintf, 5, 0, vprintf(format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vprintf, 5, 0, __vprintf_chk(1, format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vdprintf, 5, 0, vdprintf(fileno(f), format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vdprintf, 5, 0, __vdprintf_chk(fileno(f), 1, format, a), 5);
    va_end(a);
}

static void writes(void)
{
    FILE *f = (FILE *)GET(fopen_creat, fopen("out", "w"));
    DO(fwrite, 30, 0, fwrite(buf, 10, 3, f), 3);
    DO(fwrite, 40, 0, fwrite_unlocked(buf, 10, 4, f), 4);
    MUST(fputs("12345", f) >= 0);
    CALLED(fputs, 5, 0);
    MUST(fputs_unlocked("123456", f) >= 0);
    CALLED(fputs, 6, 0);
    DO(fputc, 1, 0, fputc('a', f), 'a');
    DO(fputc, 1, 0, (fputc_unlocked)('a', f), 'a');
    DO(putc, 1, 0, (putc)('a', f), 'a');
    DO(putc, 1, 0, (putc_unlocked)('a', f), 'a');
    DO(putc, 1, 0, _IO_putc('a', f), 'a');
    DO(fprintf, 9, 0, fprintf(f, "%d %.1f %s", 12, 3.5, "ab"), 9);
    DO(fprintf, 4, 0, __fprintf_chk(f, 1, "%04d", 7), 4);
    DO(fflush, 0, 0, fflush(f), 0);
    DO(fflush, 0, 0, fflush_unlocked(f), 0);
    DO(dprintf, 3, 0, dprintf(fileno(f), "%s", "abc"), 3);
    DO(dprintf, 3, 0, __dprintf_chk(fileno(f), 1, "%s", "abc"), 3);
    v_forms(f, "%d%s", 12, "abc");
    MUST(setvbuf(f, NULL, _IONBF, 0) == 0);
    DO(__overflow, 1, 0, __overflow(f, 'x'), 'x'); /* where the inlined putc_unlocked ends */
    DO(fclose, 0, 0, fclose(f), 0);
    DO(fflush, 0, 0, fflush(NULL), 0);
}

static void standard_output(void)
{
    MUST(puts("hello") >= 0);
    CALLED(puts, 6, 0);
    DO(putchar, 1, 0, (putchar)('a'), 'a');
    DO(putchar, 1, 0, (putchar_unlocked)('\n'), '\n');
    DO(printf, 6, 0, printf("%s\n", "hello"), 6);
    DO(printf, 3, 0, __printf_chk(1, "%d\n", 12), 3);
}

static void reads(void)
{
    char *line = NULL;
    size_t room = 0;
    int a;
    FILE *f = (FILE *)GET(fopen_creat, fopen64("in", "w"));
    for (int i = 0; i < 20; i++)
        DO(fprintf, 10, 0, fprintf(f, "%-9d\n", 100 + i), 10);
    DO(fclose, 0, 0, fclose(f), 0);
    f = (FILE *)GET(fopen, fopen("in", "r"));
    DO(fread, 0, 10, fread(buf, 1, 10, f), 10);
    DO(fread, 0, 10, fread_unlocked(buf, 5, 2, f), 2);
    DO(fread, 0, 10, __fread_chk(buf, sizeof buf, 5, 2, f), 2);
    DO(fread, 0, 10, __fread_unlocked_chk(buf, sizeof buf, 5, 2, f), 2);
    DO(fgets, 0, 10, fgets(buf, 100, f) == buf, 1);
    DO(fgets, 0, 10, fgets_unlocked(buf, 100, f) == buf, 1);
    DO(fgets, 0, 10, __fgets_chk(buf, sizeof buf, 100, f) == buf, 1);
    DO(fgets, 0, 10, __fgets_unlocked_chk(buf, sizeof buf, 100, f) == buf, 1);
    DO(fgetc, 0, 1, fgetc(f), '1');
    DO(fgetc, 0, 1, (fgetc_unlocked)(f), '0');
    DO(getc, 0, 1, (getc)(f), '8');
    DO(getc, 0, 1, (getc_unlocked)(f), ' ');
    DO(getc, 0, 1, _IO_getc(f), ' ');
    DO(getline, 0, 5, getline(&line, &room, f), 5);
    DO(getdelim, 0, 10, getdelim(&line, &room, '\n', f), 10);
    DO(getdelim, 0, 10, __getdelim(&line, &room, '\n', f), 10);
    DO(fscanf, 0, 3, c99_fscanf(f, "%d", &a), 1);  /* the number; what is behind it has been looked at and put back */
    DO(fscanf, 0, 10, old_fscanf(f, "%d", &a), 1); /* with the blanks before it */
    MUST(a == 112);
    DO(ftell, 0, 0, ftell(f), 123);
    DO(ftello, 0, 0, ftello(f), 123);
    DO(ftello, 0, 0, ftello64(f), 123);
    DO(fseek, 0, 0, fseek(f, 190, SEEK_SET), 0);
    DO(fread, 0, 10, fread(buf, 1, 100, f), 10); /* the end of the file */
    DO(fgetc, 0, 0, fgetc(f), EOF);
    DO(fgets, 0, 0, fgets(buf, 100, f) != NULL, 0);
    DO(fseeko, 0, 0, fseeko(f, 1, SEEK_SET), 0);
    DO(fseeko, 0, 0, fseeko64(f, 2, SEEK_SET), 0);
    rewind(f);
    CALLED(rewind, 0, 0);
    free(line);
    DO(fclose, 0, 0, fclose(f), 0);
}

static void scan(FILE *f, ...)
{
    va_list a;
    va_start(a, f);
    DO(vfscanf, 0, 2, c99_vfscanf(f, "%d", a), 1);
    va_end(a);
    va_start(a, f);
    DO(vfscanf, 0, 10, old_vfscanf(f, "%d", a), 1);
    va_end(a);
}

static void positions(void)
{
    fpos_t here;
    fpos64_t here64;
    int a;
    FILE *f = (FILE *)GET(fopen, fopen("in", "r"));
    DO(__uflow, 0, 1, __uflow(f), '1'); /* where the inlined getc_unlocked ends: it fills the buffer */
    DO(fgetpos, 0, 0, fgetpos(f, &here), 0);
    DO(fgetpos, 0, 0, fgetpos64(f, &here64), 0);
    DO(fsetpos, 0, 0, fsetpos(f, &here), 0);
    DO(fsetpos, 0, 0, fsetpos64(f, &here64), 0);
    scan(f, &a);
    f = (FILE *)GET(freopen, freopen("in", "r", f));
    f = (FILE *)GET(freopen, freopen64("in", "r", f));
    FILE *same = (FILE *)GET(fdopen, fdopen(dup(fileno(f)), "r"));
    CALLED(dup, 0, 0);
    DO(fclose, 0, 0, fclose(same), 0);
    DO(fclose, 0, 0, fclose(f), 0);
    DO(fclose, 0, 0, fclose((FILE *)GET(tmpfile, tmpfile())), 0);
    DO(fclose, 0, 0, fclose((FILE *)GET(tmpfile, tmpfile64())), 0);
}

static void scan_input(FILE *ignored, ...)
{
    va_list a;
    va_start(a, ignored);
    DO(vscanf, 0, 2, c99_vscanf("%d", a), 1);
    va_end(a);
    va_start(a, ignored);
    DO(vscanf, 0, 3, old_vscanf("%d", a), 1);
    va_end(a);
}

static void pipes(void)
{
    unsetenv("LD_PRELOAD"); /* what the shell does is not counted */
    FILE *f = (FILE *)GET(popen, popen("read line; test \"$line\" = hello", "w"));
    MUST(fputs("hello\n", f) >= 0);
    CALLED(fputs, 6, 0);
    DO(pclose, 0, 0, pclose(f), 0);
}

/*
 * What the compiler inlines for putc_unlocked and getc_unlocked, as <stdio.h> has it. The bytes show up at the next
 * call that libc sees.
 */
static void inlined(void)
{
    int n = 0;
    FILE *f = (FILE *)GET(fopen_creat, fopen("inlined", "w"));
    DO(fputc, 1, 0, fputc('x', f), 'x');
    for (int i = 0; i < 10000; i++)
        MUST(__putc_unlocked_body('y', f) == 'y');
    for (int i = 0; i < 2; i++) {
        CALLED(__overflow, 4095, 0); /* until the buffer of 4096 bytes is full */
        CALLED(__overflow, 1, 0);    /* the call that finds it full */
    }
    DO(fwrite, 7, 0, fwrite(buf, 1, 7, f), 7);
    CALLED(__overflow, 10000 - 2 * 4096, 0);
    for (int i = 0; i < 5; i++)
        __putc_unlocked_body('z', f);
    DO(fclose, 0, 0, fclose(f), 0);
    CALLED(__overflow, 5, 0);

    f = (FILE *)GET(fopen, fopen("inlined", "r"));
    DO(fgetc, 0, 1, fgetc(f), 'x');
    while (n < 10000 && __getc_unlocked_body(f) == 'y')
        n++;
    MUST(n == 10000);
    for (int i = 0; i < 2; i++) {
        CALLED(__uflow, 0, 4095);
        CALLED(__uflow, 0, 1);
    }
    DO(fread, 0, 12, fread(buf, 1, 100, f), 12);
    CALLED(__uflow, 0, 10000 - 2 * 4096);
    DO(fclose, 0, 0, fclose(f), 0);
}

static void standard_input(void)
{
    int a;
    DO(getchar, 0, 1, (getchar)(), 'a');
    DO(getchar, 0, 1, (getchar_unlocked)(), 'b');
    DO(fread, 0, 6, fread(buf, 1, 6, stdin), 6);
    DO(scanf, 0, 1, c99_scanf("%d", &a), 1);
    DO(scanf, 0, 2, old_scanf("%d", &a), 1);
    MUST(a == 8);
    scan_input(stdin, &a);
    MUST(a == 10);
}

/* A stream without a descriptor is no file, and asking it must not leave a trace in errno. */
static void memory_stream(void)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    MUST(f);
    DO(fwrite, 10, 0, fwrite(buf, 1, 10, f), 10);
    DO(fclose, 0, 0, fclose(f), 0);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    memset(buf, 'x', sizeof buf);
    writes();
    standard_output();
    reads();
    positions();
    standard_input();
    memory_stream();
    pipes();
    inlined();
    GET(freopen, freopen("messages", "w", stderr));
    perror(NULL);
    CALLED(perror, 0, 0);
    DO(fflush, 0, 0, fflush(stdout), 0);
    raw_print("--\n");
    expect_report();
    return 0;
}
