/*
 * Wide characters through stdio, under every name. Each counts as one byte.
 *
 *     posix_wide DIRECTORY       standard input: a word, a number, more
 */
#include <stdarg.h>
#include <wchar.h>

#include "posix_expect.h"

/* Names that no header declares, or declares under other symbols. */
int c99_fwscanf(FILE *, const wchar_t *, ...) __asm__("__isoc99_fwscanf");
int c99_wscanf(const wchar_t *, ...) __asm__("__isoc99_wscanf");
int c99_vfwscanf(FILE *, const wchar_t *, va_list) __asm__("__isoc99_vfwscanf");
int c99_vwscanf(const wchar_t *, va_list) __asm__("__isoc99_vwscanf");
int old_fwscanf(FILE *, const wchar_t *, ...) __asm__("fwscanf");
int old_wscanf(const wchar_t *, ...) __asm__("wscanf");
int old_vfwscanf(FILE *, const wchar_t *, va_list) __asm__("vfwscanf");
int old_vwscanf(const wchar_t *, va_list) __asm__("vwscanf");
wchar_t *__fgetws_chk(wchar_t *, size_t, int, FILE *);
wchar_t *__fgetws_unlocked_chk(wchar_t *, size_t, int, FILE *);
int __fwprintf_chk(FILE *, int, const wchar_t *, ...);
int __wprintf_chk(int, const wchar_t *, ...);
int __vfwprintf_chk(FILE *, int, const wchar_t *, va_list);
int __vwprintf_chk(int, const wchar_t *, va_list);

static wchar_t buf[200];

static void v_writes(FILE *f, const wchar_t *format, ...)
{
    va_list a;
    va_start(a, format);
    DO(vfwprintf, 5, 0, vfwprintf(f, format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vfwprintf, 5, 0, __vfwprintf_chk(f, 1, format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vwprintf, 5, 0, vwprintf(format, a), 5);
    va_end(a);
    va_start(a, format);
    DO(vwprintf, 5, 0, __vwprintf_chk(1, format, a), 5);
    va_end(a);
}

static void writes(void)
{
    FILE *f = (FILE *)GET(fopen_creat, fopen("wide", "w"));
    DO(fputwc, 1, 0, fputwc(L'a', f), 'a');
    DO(fputwc, 1, 0, fputwc_unlocked(L'b', f), 'b');
    DO(fputwc, 1, 0, (putwc)(L'c', f), 'c');
    DO(fputwc, 1, 0, (putwc_unlocked)(L'd', f), 'd');
    MUST(fputws(L"12345", f) >= 0);
    CALLED(fputws, 5, 0);
    MUST(fputws_unlocked(L"123456", f) >= 0);
    CALLED(fputws, 6, 0);
    DO(fwprintf, 6, 0, fwprintf(f, L" %d %s", 12, "ab"), 6);
    DO(fwprintf, 4, 0, __fwprintf_chk(f, 1, L"%04d", 7), 4);
    DO(putwchar, 1, 0, (putwchar)(L'a'), 'a');
    DO(putwchar, 1, 0, (putwchar_unlocked)(L'a'), 'a');
    DO(wprintf, 3, 0, wprintf(L"%d\n", 12), 3);
    DO(wprintf, 3, 0, __wprintf_chk(1, L"%d\n", 12), 3);
    v_writes(f, L"%d%s", 12, "abc");
    MUST(fputws(L"\none\ntwo\nthree\nfour\n1 2 3 4", f) >= 0);
    CALLED(fputws, 27, 0);
    DO(fclose, 0, 0, fclose(f), 0);
}

static void v_reads(FILE *f, ...)
{
    va_list a;
    va_start(a, f);
    DO(vfwscanf, 0, 0, c99_vfwscanf(f, L"%d", a), 1);
    va_end(a);
    va_start(a, f);
    DO(vfwscanf, 0, 0, old_vfwscanf(f, L"%d", a), 1);
    va_end(a);
    va_start(a, f);
    DO(vwscanf, 0, 0, c99_vwscanf(L"%d", a), 1);
    va_end(a);
    va_start(a, f);
    DO(vwscanf, 0, 0, old_vwscanf(L"%d", a), 1);
    va_end(a);
}

static void reads(void)
{
    int number = 0;
    FILE *f = (FILE *)GET(fopen, fopen("wide", "r"));
    DO(fgetwc, 0, 1, fgetwc(f), 'a');
    DO(fgetwc, 0, 1, fgetwc_unlocked(f), 'b');
    DO(fgetwc, 0, 1, (getwc)(f), 'c');
    DO(fgetwc, 0, 1, (getwc_unlocked)(f), 'd');
    while (fgetwc_unlocked(f) != L'\n')
        CALLED(fgetwc, 0, 1);
    CALLED(fgetwc, 0, 1);
    DO(fgetws, 0, 4, fgetws(buf, 100, f) == buf, 1);
    DO(fgetws, 0, 4, fgetws_unlocked(buf, 100, f) == buf, 1);
    DO(fgetws, 0, 6, __fgetws_chk(buf, 200, 100, f) == buf, 1);
    DO(fgetws, 0, 5, __fgetws_unlocked_chk(buf, 200, 100, f) == buf, 1);
    DO(fwscanf, 0, 0, c99_fwscanf(f, L"%d", &number), 1);
    DO(fwscanf, 0, 0, old_fwscanf(f, L"%d", &number), 1);
    DO(getwchar, 0, 1, (getwchar)(), 'a');
    DO(getwchar, 0, 1, (getwchar_unlocked)(), 'b');
    DO(fgetwc, 0, 1, fgetwc(stdin), 'c');
    while (fgetwc(stdin) != L'h')
        CALLED(fgetwc, 0, 1);
    CALLED(fgetwc, 0, 1);
    DO(wscanf, 0, 0, c99_wscanf(L"%d", &number), 1);
    DO(wscanf, 0, 0, old_wscanf(L"%d", &number), 1);
    v_reads(f, &number);
    MUST(number == 10);
    DO(fclose, 0, 0, fclose(f), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    writes();
    reads();
    DO(fflush, 0, 0, fflush(stdout), 0);
    raw_print("--\n");
    expect_report();
    return 0;
}
