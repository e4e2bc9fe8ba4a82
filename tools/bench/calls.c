/* ns a call of the POSIX and stdio functions that programs call most. */
#include "chunks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int zero, null, file;
static FILE *lines, *source, *sink;
static char buffer[64];

static void check(int good)
{
    if (!good) {
        perror("calls");
        exit(1);
    }
}

static void open_and_close(void)
{
    int fd = open("/dev/null", O_WRONLY);
    check(fd >= 0 && close(fd) == 0);
}

/* A line of 8 characters, of a file of many: at its end from the beginning again. */
static void read_line(void)
{
    if (!fgets(buffer, sizeof buffer, lines))
        rewind(lines);
}

#define CALLS(X)                                                                                                       \
    X(read, 10000, 1, check(read(zero, buffer, 1) == 1))                                                               \
    X(pread, 10000, 1, check(pread(file, buffer, 8, 0) == 8))                                                          \
    X(write, 10000, 1, check(write(null, "x", 1) == 1))                                                                \
    X(pwrite, 10000, 1, check(pwrite(null, "12345678", 8, 0) == 8))                                                    \
    X(lseek, 10000, 1, check(lseek(file, 0, SEEK_SET) == 0))                                                           \
    X(open_close, 1000, 2, open_and_close())                                                                           \
    X(stat, 2000, 1, struct stat st; check(stat("/dev/null", &st) == 0))                                               \
    X(fread, 100000, 1, check(fread(buffer, 8, 1, source) == 1))                                                       \
    X(fwrite, 100000, 1, check(fwrite("12345678", 8, 1, sink) == 1))                                                   \
    X(fgets, 50000, 1, read_line())                                                                                    \
    X(fputs, 100000, 1, check(fputs("12345678", sink) >= 0))                                                           \
    X(putc, 200000, 1, check((putc)('x', sink) == 'x'))

CALLS(BENCH_BODY)

static FILE *file_of_lines(void)
{
    FILE *stream = tmpfile();
    check(stream != NULL);
    for (int i = 0; i < 100000; i++)
        fputs("1234567\n", stream);
    fflush(stream);
    rewind(stream);
    return stream;
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {CALLS(BENCH_KIND)};
    int chunks = parse_chunks(argc, argv);
    lines = file_of_lines();
    source = fopen("/dev/zero", "r");
    sink = fopen("/dev/null", "w");
    zero = open("/dev/zero", O_RDONLY);
    null = open("/dev/null", O_WRONLY);
    file = dup(fileno(lines));
    check(source && sink && zero >= 0 && null >= 0 && file >= 0);
    run_chunks(kinds, sizeof kinds / sizeof *kinds, chunks, 1);
    return 0;
}
