/*
 * Access patterns of parallel programs on a file system (thesis, 3.2.1; read forms of the same).
 *
 *   open-write-close   open a file, write a chunk, close it; another file each time, or the same again and again
 *   write-seek         one open file: write a chunk, back to its beginning
 *   aggregate-write    one open file: chunk after chunk, until it has --file-size, then anew
 */
#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "access.h"
#include "load.h"

enum pattern { OPEN_CLOSE, SEEK, AGGREGATE };
enum files { NEW, SAME };

static const char *const pattern_words[] = {"open-write-close", "write-seek", "aggregate-write", NULL};
static const char *const api_words[] = {"posix", "mpiio", "collective", NULL};
static const char *const files_words[] = {"new", "same", NULL};
static uint64_t pattern = OPEN_CLOSE, api = ACCESS_POSIX, files = NEW, keep = 4;
static uint64_t chunk = 1 << 20, pieces = 1, file_size = 256 << 20, shared, flush, reads;

static const struct load_option options[] = {
    {.name = "pattern", .help = "what each rank does", .kind = LOAD_WORD, .value = &pattern, .words = pattern_words},
    {.name = "api",
     .help = "calls to use; collective: MPI-IO on one file of all ranks",
     .kind = LOAD_WORD,
     .value = &api,
     .words = api_words},
    {.name = "chunk",
     .help = "bytes that are written at once, 1k to 256M (default 1M)",
     .kind = LOAD_SIZE,
     .value = &chunk,
     .least = 1024,
     .most = 256 << 20},
    {.name = "pieces",
     .help = "equal writes that make a chunk (default 1)",
     .kind = LOAD_SIZE,
     .value = &pieces,
     .least = 1,
     .most = 1 << 20},
    {.name = "files",
     .help = "open-write-close: a new file each time, or the same",
     .kind = LOAD_WORD,
     .value = &files,
     .words = files_words},
    {.name = "keep",
     .help = "new files that a rank leaves before it removes the oldest, 1 to 1000 (default 4)",
     .kind = LOAD_SIZE,
     .value = &keep,
     .least = 1,
     .most = 1000},
    {.name = "file-size",
     .help = "bytes after which aggregate-write begins anew (default 256M)",
     .kind = LOAD_SIZE,
     .value = &file_size,
     .least = 1024,
     .most = UINT64_C(1) << 40},
    {.name = "shared", .help = "all ranks use one file, each its own part", .kind = LOAD_FLAG, .value = &shared},
    {.name = "flush",
     .help = "flush to the device after each chunk; with --read: past the page cache",
     .kind = LOAD_FLAG,
     .value = &flush},
    {.name = "read", .help = "read instead of write; files are written first", .kind = LOAD_FLAG, .value = &reads},
    {0},
};

static struct {
    struct access_file file;
    void *data;
    const char *folder;
    uint64_t offset, base; /* of the next chunk; where the rank's part of a shared file begins */
    uint64_t opened;       /* files opened for open-write-close so far */
    int removes;           /* this rank removes old files */
} my;

static const char *check(void)
{
    if (chunk % pieces)
        return "--chunk is no multiple of --pieces";
    if (reads && flush && api != ACCESS_POSIX)
        return "--read with --flush goes with --api posix only";
    return NULL;
}

static int has_many_files(void) { return pattern == OPEN_CLOSE && files == NEW; }

/* The bytes of a file that a rank uses. */
static uint64_t part_size(void)
{
    const uint64_t whole = file_size / chunk * chunk;
    return pattern == AGGREGATE ? (whole ? whole : chunk) : chunk;
}

static int open_file(uint64_t number, int writes)
{
    char path[600];
    snprintf(path, sizeof path, "%s/data%" PRIu64, my.folder, number);
    return access_open(&my.file, path, writes);
}

/* A chunk at an offset of the rank's part. */
static int transfer(uint64_t offset, int writes)
{
    const uint64_t piece = chunk / pieces;
    if (access_seek(&my.file, my.base + offset))
        return -1;
    for (char *at = my.data; at < (char *)my.data + chunk; at += piece)
        if (writes ? access_write(&my.file, at, piece) : access_read(&my.file, at, piece))
            return -1;
    return 0;
}

/* Write what is to be read, and get it out of memory. */
static int fill_files(void)
{
    for (uint64_t number = 0; number < (has_many_files() ? keep : 1); number++) {
        int failed = open_file(number, 1);
        for (uint64_t at = 0; !failed && at < part_size(); at += chunk)
            failed = transfer(at, 1);
        if (failed || access_flush(&my.file) || access_close(&my.file))
            return -1;
    }
    return 0;
}

static const char *begin(struct load_run *run)
{
    shared |= api == ACCESS_COLLECTIVE;
    run->meets = api == ACCESS_COLLECTIVE;
    my.file.api = (enum access_api)api;
    my.file.counts = run->counts;
    my.folder = shared ? run->together : run->folder;
    my.base = shared ? part_size() * (uint64_t)run->rank : 0;
    my.removes = api != ACCESS_COLLECTIVE || run->rank == 0;
    my.data = load_buffer(run, chunk);
    if (!my.data)
        return "not enough memory for a chunk: choose a smaller --chunk";
    if (reads && fill_files())
        return "cannot write the file that is to be read: choose another --dir";
    if (pattern != OPEN_CLOSE && open_file(0, !reads))
        return "cannot open the file: choose another --dir";
    return NULL;
}

static int remove_old(uint64_t number)
{
    char path[600];
    if (reads || !my.removes || number < keep)
        return 0;
    snprintf(path, sizeof path, "%s/data%" PRIu64, my.folder, number - keep);
    return access_remove(&my.file, path);
}

static int open_next(void)
{
    const uint64_t number = my.opened++;
    if (!has_many_files())
        return open_file(0, !reads);
    return remove_old(number) || open_file(reads ? number % keep : number, !reads);
}

static uint64_t work(struct load_run *run)
{
    (void)run;
    if (pattern == OPEN_CLOSE && open_next())
        return LOAD_FAILED;
    if (reads && flush && access_forget(&my.file))
        return LOAD_FAILED;
    if (transfer(my.offset, !reads))
        return LOAD_FAILED;
    if (!reads && flush && access_flush(&my.file))
        return LOAD_FAILED;
    if (pattern == OPEN_CLOSE && access_close(&my.file))
        return LOAD_FAILED;
    if (pattern == SEEK && access_seek(&my.file, my.base))
        return LOAD_FAILED;
    if (pattern == AGGREGATE)
        my.offset = (my.offset + chunk) % part_size();
    return chunk;
}

static void end(struct load_run *run)
{
    (void)run;
    access_close(&my.file);
    free(my.data);
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-pattern",
        .stresses = "a file system, with one of three access patterns",
        .example = "mpirun -n 2 load-pattern --pattern write-seek --chunk 16M --flush --active 12 --silent 12",
        .unit = "B",
        .volume = UINT64_C(4) << 30,
        .has_files = 1,
        .options = options,
        .counts = access_count_names,
        .check = check,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
