#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int all_agree(int good)
{
    int all;
    const int why = errno;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    errno = good ? EIO : why;
    return all;
}

int load_folders_make(struct load_run *run)
{
    int good = 1;
    if (run->rank == 0) {
        const int length =
            snprintf(run->together, sizeof run->together, "%s/crosswind-load-XXXXXX", run->options.directory);
        good = length > 0 && (size_t)length < sizeof run->together - 32 && mkdtemp(run->together) != NULL;
    }
    if (!all_agree(good)) {
        run->together[0] = 0;
        return 0;
    }
    MPI_Bcast(run->together, sizeof run->together, MPI_CHAR, 0, MPI_COMM_WORLD);
    snprintf(run->folder, sizeof run->folder, "%.480s/rank%d", run->together, run->rank);
    const int made = mkdir(run->folder, 0700) == 0;
    if (!made)
        run->folder[0] = 0;
    return all_agree(made);
}

/* Remove the plain files in a directory, and it: the programs make no directories in theirs. Again until there are
   none: some file systems pass over files while others are removed. */
static void remove_flat(const char *path)
{
    DIR *directory = opendir(path);
    int removed = directory != NULL;
    while (removed) {
        const struct dirent *entry;
        removed = 0;
        rewinddir(directory);
        while ((entry = readdir(directory)))
            removed |= unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    }
    if (directory)
        closedir(directory);
    rmdir(path);
}

void load_folders_remove_own(const struct load_run *run)
{
    if (run->folder[0])
        remove_flat(run->folder);
}

void load_folders_remove_common(const struct load_run *run)
{
    if (run->rank == 0 && run->together[0])
        remove_flat(run->together);
}
