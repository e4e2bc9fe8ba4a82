/* ns a call of write, pwrite and fwrite. */
#include "chunks.h"

#include <fcntl.h>
#include <unistd.h>

static int null;
static FILE *stream;

static void do_write(long calls)
{
    for (long i = 0; i < calls; i++)
        if (write(null, "x", 1) != 1)
            exit(1);
}

static void do_pwrite(long calls)
{
    for (long i = 0; i < calls; i++)
        if (pwrite(null, "12345678", 8, 0) != 8)
            exit(1);
}

static void do_fwrite(long calls)
{
    for (long i = 0; i < calls; i++)
        if (fwrite("12345678", 8, 1, stream) != 1)
            exit(1);
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        {"write", do_write, 10000, 1}, {"pwrite", do_pwrite, 10000, 1}, {"fwrite", do_fwrite, 100000, 1}};
    int chunks = parse_chunks(argc, argv);
    null = open("/dev/null", O_WRONLY);
    stream = fopen("/dev/null", "w");
    if (null < 0 || !stream)
        return 1;
    run_chunks(kinds, 3, chunks, 1);
    return 0;
}
