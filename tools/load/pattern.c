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
#include "stop.h"

enum pattern { OPEN_CLOSE, SEEK, AGGREGATE };
enum files { NEW, SAME };
enum { STEP_NS = 10000000 };

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
    uint64_t moved;        /* bytes of the present chunk */
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

static int move(uint64_t offset, uint64_t size, int writes)
{
    char *at = (char *)my.data + offset;
    return writes ? access_write(&my.file, at, size) : access_read(&my.file, at, size);
}

enum filling { GOES_ON, ASKED, FAILED };

/* How filling stands on this rank; of ranks that work together, on the one where it stands worst: they end together. */
static enum filling filling(const struct load_run *run, int failed)
{
    int state = failed ? FAILED : load_stop_asked() ? ASKED : GOES_ON;
    if (run->options.meet)
        MPI_Allreduce(MPI_IN_PLACE, &state, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return (enum filling)state;
}

/* Write what is to be read, to the device; as much of it as there is time for until a signal comes. Of ranks that meet
   none leaves before the others know: they would wait for it. */
static int fill_files(const struct load_run *run)
{
    enum filling state = GOES_ON;
    for (uint64_t number = 0; number < (has_many_files() ? keep : 1) && state == GOES_ON; number++) {
        state = filling(run, open_file(number, 1));
        for (uint64_t at = 0; state == GOES_ON && at < part_size(); at += chunk)
            state = filling(run, access_seek(&my.file, my.base + at) || move(0, chunk, 1));
        if (state == FAILED)
            return -1;
        const int failed = state == GOES_ON && access_flush(&my.file);
        state = filling(run, access_close(&my.file) || failed);
    }
    return state == FAILED ? -1 : 0;
}

static const char *begin(struct load_run *run)
{
    shared |= api == ACCESS_COLLECTIVE;
    if (api == ACCESS_COLLECTIVE)
        run->options.meet = 1;
    my.file.api = (enum access_api)api;
    my.file.counts = run->counts;
    my.folder = shared ? run->together : run->folder;
    my.base = shared ? part_size() * (uint64_t)run->rank : 0;
    my.removes = api != ACCESS_COLLECTIVE || run->rank == 0;
    my.data = load_buffer(run, chunk);
    if (reads ? filling(run, !my.data) == FAILED : !my.data)
        return "not enough memory for a chunk: choose a smaller --chunk";
    if (reads && fill_files(run))
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

static int begin_chunk(void)
{
    if (pattern == OPEN_CLOSE && open_next())
        return -1;
    if (reads && flush && access_forget(&my.file))
        return -1;
    return access_seek(&my.file, my.base + my.offset);
}

static int end_chunk(void)
{
    if (!reads && flush && access_flush(&my.file))
        return -1;
    if (pattern == OPEN_CLOSE)
        return access_close(&my.file);
    if (pattern == SEEK)
        return access_seek(&my.file, my.base);
    my.offset = (my.offset + chunk) % part_size();
    return 0;
}

/* A chunk, or those of its pieces that a short time is enough for. Ranks that meet do as many. */
static uint64_t work(struct load_run *run)
{
    const uint64_t size = chunk / pieces, from = my.moved;
    const int64_t until = run->options.meet ? INT64_MAX : load_now_ns() + STEP_NS;
    if (my.moved == 0 && begin_chunk())
        return LOAD_FAILED;
    do {
        if (move(my.moved, size, !reads))
            return LOAD_FAILED;
        my.moved += size;
    } while (my.moved < chunk && load_now_ns() < until);
    const uint64_t done = my.moved - from;
    if (my.moved == chunk) {
        my.moved = 0;
        if (end_chunk())
            return LOAD_FAILED;
    }
    return done;
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
