/* Metadata of a file system: files made, looked at, renamed and removed, without a byte in them. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

enum { FILES = 64, CALLS_PER_FILE = 5 };

static const char *begin(struct load_run *run)
{
    (void)run;
    return NULL;
}

static int one_file(const char *folder, int number)
{
    char name[600], other[600];
    struct stat status;
    snprintf(name, sizeof name, "%s/f%d", folder, number);
    snprintf(other, sizeof other, "%s/g%d", folder, number);
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 || close(fd) || stat(name, &status) || rename(name, other) || unlink(other) ? -1 : 0;
}

static uint64_t work(struct load_run *run)
{
    for (int i = 0; i < FILES; i++)
        if (one_file(run->folder, i))
            return LOAD_FAILED;
    return FILES * CALLS_PER_FILE;
}

static void end(struct load_run *run) { (void)run; }

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-metadata",
        .stresses = "loads the metadata server of a file system: open, close, stat, rename, unlink",
        .example = "mpirun -n 2 load-metadata --dir /scratch/me --seconds 60",
        .unit = "operations",
        .has_files = 1,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
