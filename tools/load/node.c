/*
 * What the processes of a node share beside its processors: memory bandwidth and the last-level cache.
 *
 *   memory   a[i] = b[i] + s c[i] over arrays far larger than any cache (J. D. McCalpin's STREAM triad)
 *   cache    reads at random places of an array as large as the last-level cache: each takes one of its lines
 */
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

enum kind { MEMORY, CACHE };
enum { TRIAD_STEP = 1 << 18, READS = 1 << 16, LINE = 64, SMALLEST = 65536, USUAL_CACHE = 32 << 20 };

static const char *const kind_words[] = {"memory", "cache", NULL};
static uint64_t kind = MEMORY, size;

static const struct load_option options[] = {
    {.name = "kind", .help = "what is loaded", .kind = LOAD_WORD, .value = &kind, .words = kind_words},
    {.name = "size",
     .help = "bytes of an array, 64k to 4G (default: 64M for memory, which has three; as the last-level cache)",
     .kind = LOAD_SIZE,
     .value = &size,
     .least = SMALLEST,
     .most = UINT64_C(4) << 30},
    {0},
};

static double *a, *b, *c;
static size_t at;
static volatile double sink; /* the compiler has to do the work */

static uint64_t usual_size(void)
{
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (kind == MEMORY)
        return 64 << 20;
    return cache < SMALLEST ? USUAL_CACHE : (uint64_t)cache;
}

/* Pages that were never written would all be one page of zeros, and in the cache. */
static double *filled(double value)
{
    double *array = malloc(size);
    for (size_t i = 0; array && i < size / sizeof *array; i++)
        array[i] = value;
    return array;
}

static const char *begin(struct load_run *run)
{
    if (!size)
        size = usual_size();
    if (kind == CACHE) {
        a = load_buffer(run, size);
    } else {
        a = filled(1);
        b = filled(2);
        c = filled(3);
    }
    return a && (kind == CACHE || (b && c)) ? NULL : "not enough memory: choose a smaller --size";
}

static uint64_t triad(void)
{
    const size_t n = size / sizeof *a, behind = at + TRIAD_STEP < n ? at + TRIAD_STEP : n;
    for (size_t i = at; i < behind; i++)
        a[i] = b[i] + 3.0 * c[i];
    const uint64_t moved = (behind - at) * 3 * sizeof *a;
    at = behind < n ? behind : 0;
    sink = a[at];
    return moved;
}

static uint64_t random_reads(struct load_run *run)
{
    const uint64_t lines = size / LINE;
    uint64_t sum = 0;
    for (int i = 0; i < READS; i++) {
        const uint64_t line = (uint64_t)((unsigned __int128)load_random(run) * lines >> 64);
        sum += ((const uint64_t *)a)[line * (LINE / sizeof(uint64_t))];
    }
    sink = (double)sum;
    return (uint64_t)READS * LINE;
}

static uint64_t work(struct load_run *run) { return kind == MEMORY ? triad() : random_reads(run); }

static void end(struct load_run *run)
{
    (void)run;
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-node",
        .stresses = "what the processes of one node share: memory bandwidth or the last-level cache",
        .example = "load-node --kind memory --seconds 60 --intensity 0.5",
        .unit = "B",
        .options = options,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
