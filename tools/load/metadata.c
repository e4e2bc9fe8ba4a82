/* Metadata of a file system: files made, looked at, renamed and removed, without a byte in them; one at a time. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"

enum { FILES_PER_STEP = 16 };
enum count { OPEN, CLOSE, STAT, RENAME, UNLINK, COUNTS };

static const char *const counts[] = {"open", "close", "stat", "rename", "unlink", NULL};
static uint64_t shared;

static const struct load_option options[] = {
    {.name = "shared", .help = "all ranks work in one directory", .kind = LOAD_FLAG, .value = &shared},
    {0},
};

static char name[600], other[600];

static const char *begin(struct load_run *run)
{
    const char *folder = shared ? run->together : run->folder;
    snprintf(name, sizeof name, "%s/made%d", folder, run->rank);
    snprintf(other, sizeof other, "%s/moved%d", folder, run->rank);
    return NULL;
}

static int one_file(uint64_t *done)
{
    struct stat status;
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd) || stat(name, &status) || rename(name, other) || unlink(other))
        return -1;
    for (int i = 0; i < COUNTS; i++)
        done[i]++;
    return 0;
}

static uint64_t work(struct load_run *run)
{
    for (int i = 0; i < FILES_PER_STEP; i++)
        if (one_file(run->counts))
            return LOAD_FAILED;
    return (uint64_t)FILES_PER_STEP * COUNTS;
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-metadata",
        .stresses = "the metadata server of a file system: open, close, stat, rename, unlink of empty files",
        .example = "mpirun -n 2 load-metadata --dir /scratch/me --seconds 60",
        .unit = "operations",
        .volume = 2000000,
        .has_files = 1,
        .options = options,
        .counts = counts,
        .begin = begin,
        .work = work,
    };
    return load_main(argc, argv, &program);
}
