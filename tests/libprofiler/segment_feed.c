/*
 * Feed the segment store of a process of its own.
 *
 *     segment_feed DIRECTORY rows FILE        one struct xw_segment_row after the other from FILE
 *     segment_feed DIRECTORY PROGRAM N        N segments of one of the programs of segment_feed.h, by number
 *
 * The process is rank CROSSWIND_RANK of CROSSWIND_RANKS. Prints the bytes in blocks, segments lost, and ns a segment
 * took. The spool file stays, as a killed process leaves it.
 */
#include "segment_feed.h"

#include <time.h>

enum { MAKE_ROOM_EVERY = 1000, HZ = 2000000000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t feed_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct xw_segment_row row;
    uint64_t n = 0;
    while (file && fread(&row, sizeof row, 1, file) == 1) {
        xw_segment_store_add(xw_process, &row);
        if (++n % MAKE_ROOM_EVERY == 0)
            feed_make_room();
    }
    return n;
}

static uint64_t feed_program(enum feed_program program, uint64_t n)
{
    struct feed feed = {.program = program, .random = 1, .tick = xw_process->spool.header->start.tick};
    for (uint64_t i = 0; i < n; i++) {
        xw_segment_store_add(xw_process, feed_next(&feed));
        if (i % MAKE_ROOM_EVERY == 0)
            feed_make_room();
    }
    return n;
}

/* What feeding costs by itself. */
static void feed_nothing(enum feed_program program, uint64_t n)
{
    struct feed feed = {.program = program, .random = 1};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += feed_next(&feed)->value[0];
    __asm__ volatile("" : : "r"(sum));
}

static uint64_t block_bytes(const struct xw_spool *spool)
{
    uint64_t bytes = 0;
    for (uint32_t c = 0; c < spool->header->n_chunks; c++)
        if (spool->header->chunk[c].kind == XW_CHUNK_BLOCKS && c < spool->blocks.chunk)
            bytes += spool->header->chunk[c].size;
    return bytes + spool->blocks.used;
}

int main(int argc, char **argv)
{
    if (argc != 4 || !feed_begin(argv[1]))
        return 2;
    const char *rank = getenv("CROSSWIND_RANK"), *ranks = getenv("CROSSWIND_RANKS");
    xw_process->spool.header->rank = rank ? atoi(rank) : 0;
    xw_process->spool.header->ranks = ranks ? atoi(ranks) : 1;
    xw_process->spool.header->tick_hz = HZ;
    feed_make_room();
    const int rows = !strcmp(argv[2], "rows");
    const enum feed_program program = rows ? 0 : (enum feed_program)atoi(argv[2]);
    double begin = now_ns();
    if (!rows)
        feed_nothing(program, strtoull(argv[3], NULL, 10));
    const double feeding = now_ns() - begin;
    begin = now_ns();
    const uint64_t n = rows ? feed_file(argv[3]) : feed_program(program, strtoull(argv[3], NULL, 10));
    const double spent = now_ns() - begin - feeding;
    printf("%llu %llu %.1f\n", (unsigned long long)block_bytes(&xw_process->spool),
           (unsigned long long)xw_process->spool.header->lost[XW_LOST_SEGMENTS], spent / (double)(n ? n : 1));
    return 0;
}
