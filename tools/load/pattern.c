/*
 * Access patterns of parallel programs on a file system (thesis, 3.2.1; read forms of the same).
 *
 *   open-write-close   open a file, write a chunk, close it; again and again the same file
 *   write-seek         one open file: write a chunk, back to its beginning
 *   aggregate-write    one open file: chunk after chunk, until it has --file-size, then anew
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

enum pattern { OPEN_CLOSE, SEEK, AGGREGATE };
enum api { POSIX, THROUGH_MPI };

static const char *const pattern_words[] = {"open-write-close", "write-seek", "aggregate-write", NULL};
static const char *const api_words[] = {"posix", "mpiio", NULL};
static uint64_t pattern = OPEN_CLOSE, api = POSIX, chunk = 1 << 20, file_size = 256 << 20, shared, flush, reads;

static const struct load_option options[] = {
    {.name = "pattern", .help = "what each rank does", .kind = LOAD_WORD, .value = &pattern, .words = pattern_words},
    {.name = "api", .help = "calls to use", .kind = LOAD_WORD, .value = &api, .words = api_words},
    {.name = "chunk",
     .help = "bytes of a request, 1k to 256M (default 1M)",
     .kind = LOAD_SIZE,
     .value = &chunk,
     .least = 1024,
     .most = 256 << 20},
    {.name = "file-size",
     .help = "bytes after which aggregate-write begins anew (default 256M)",
     .kind = LOAD_SIZE,
     .value = &file_size,
     .least = 1024,
     .most = UINT64_C(1) << 40},
    {.name = "shared", .help = "all ranks use one file, each its own part", .kind = LOAD_FLAG, .value = &shared},
    {.name = "flush", .help = "flush to the device after each request", .kind = LOAD_FLAG, .value = &flush},
    {.name = "read", .help = "read instead of write; the file is written first", .kind = LOAD_FLAG, .value = &reads},
    {0},
};

static struct {
    char path[600];
    void *data;
    uint64_t offset, base; /* of the next request; where the rank's part of a shared file begins */
    int fd;
    MPI_File file;
    int is_open;
} my;

/* The bytes of the file that a rank uses. */
static uint64_t part_size(void)
{
    const uint64_t whole = file_size / chunk * chunk;
    return pattern == AGGREGATE ? (whole ? whole : chunk) : chunk;
}

static int mpi_error(int error)
{
    errno = EIO;
    return error == MPI_SUCCESS ? 0 : -1;
}

static int open_file(int writes)
{
    int result;
    if (api == THROUGH_MPI)
        result = mpi_error(MPI_File_open(MPI_COMM_SELF, my.path,
                                         (writes ? MPI_MODE_WRONLY : MPI_MODE_RDONLY) | MPI_MODE_CREATE * writes,
                                         MPI_INFO_NULL, &my.file));
    else
        result = my.fd = open(my.path, (writes ? O_WRONLY | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    my.is_open = result >= 0;
    return result < 0 ? -1 : 0;
}

static int close_file(void)
{
    if (!my.is_open)
        return 0;
    my.is_open = 0;
    return api == THROUGH_MPI ? mpi_error(MPI_File_close(&my.file)) : close(my.fd);
}

/* The whole chunk at the offset, by as many calls as it takes. */
static int transfer_posix(uint64_t offset, int writes)
{
    if (lseek(my.fd, (off_t)offset, SEEK_SET) < 0)
        return -1;
    for (uint64_t at = 0; at < chunk;) {
        char *data = (char *)my.data + at;
        const ssize_t moved = writes ? write(my.fd, data, chunk - at) : read(my.fd, data, chunk - at);
        if (moved <= 0) {
            errno = moved ? errno : ENODATA;
            return -1;
        }
        at += (uint64_t)moved;
    }
    return writes && flush ? fsync(my.fd) : 0;
}

static int transfer_mpi(uint64_t offset, int writes)
{
    const int error =
        writes ? MPI_File_write_at(my.file, (MPI_Offset)offset, my.data, (int)chunk, MPI_BYTE, MPI_STATUS_IGNORE)
               : MPI_File_read_at(my.file, (MPI_Offset)offset, my.data, (int)chunk, MPI_BYTE, MPI_STATUS_IGNORE);
    if (mpi_error(error))
        return -1;
    return writes && flush ? mpi_error(MPI_File_sync(my.file)) : 0;
}

static int transfer(uint64_t offset, int writes)
{
    return api == THROUGH_MPI ? transfer_mpi(offset, writes) : transfer_posix(offset, writes);
}

static int fill_file(void)
{
    if (open_file(1))
        return -1;
    for (uint64_t at = 0; at < part_size(); at += chunk)
        if (transfer(my.base + at, 1))
            return -1;
    return close_file();
}

static const char *begin(struct load_run *run)
{
    my.data = load_buffer(run, chunk);
    if (!my.data)
        return "not enough memory for a chunk: choose a smaller --chunk";
    my.base = shared ? part_size() * (uint64_t)run->rank : 0;
    snprintf(my.path, sizeof my.path, "%s/data", shared ? run->together : run->folder);
    if (reads && fill_file())
        return "cannot write the file that is to be read: choose another --dir";
    if (pattern != OPEN_CLOSE && open_file(!reads))
        return "cannot open the file: choose another --dir";
    return NULL;
}

static uint64_t work(struct load_run *run)
{
    (void)run;
    if (pattern == OPEN_CLOSE && open_file(!reads))
        return LOAD_FAILED;
    if (transfer(my.base + my.offset, !reads))
        return LOAD_FAILED;
    if (pattern == OPEN_CLOSE && close_file())
        return LOAD_FAILED;
    if (pattern == AGGREGATE)
        my.offset = (my.offset + chunk) % part_size();
    return chunk;
}

static void end(struct load_run *run)
{
    (void)run;
    close_file();
    free(my.data);
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-pattern",
        .stresses = "loads a file system with one of three access patterns",
        .example = "mpirun -n 2 load-pattern --pattern write-seek --chunk 16M --flush --active 12 --silent 12",
        .unit = "B",
        .has_files = 1,
        .options = options,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
