/*
 * Programs that put a known load on one resource: what they share. Each program is one small file that fills in a
 * struct load_program and calls load_main.
 *
 *     options -> begin -> (work, work, ... in active phases; sleep in silent ones) -> end -> report as JSON
 *
 * Safe on a shared machine unless told otherwise: bounded in time and volume, files below a directory of its own that
 * is removed at the end and on SIGINT, SIGTERM and SIGHUP. They are ordinary MPI programs: one rank without a launcher.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { LOAD_MAX_COUNTS = 12 };

/* What every program understands. */
struct load_options {
    double seconds;   /* how long */
    double active;    /* seconds of each period in which it works; 0: all the time */
    double silent;    /* seconds of each period in which it rests */
    double intensity; /* share of the time it works while active, above 0 to 1 */
    uint64_t meet;    /* works after which the ranks meet; 0: never; begin sets 1 where the work is collective */
    uint64_t volume;  /* amount after which a rank ends, in the program's unit; 0: no bound */
    uint64_t seed;
    const char *directory; /* where files are made */
};

struct load_run {
    struct load_options options;
    int rank, ranks;
    char folder[512];                 /* the rank's own, below options.directory; "" for programs without files */
    char together[512];               /* the ranks' common one, made by rank 0 */
    uint64_t random;                  /* state of load_random */
    uint64_t counts[LOAD_MAX_COUNTS]; /* calls made and bytes moved, named by the program */
};

enum load_kind { LOAD_WORD, LOAD_SIZE, LOAD_FLAG };

/* An option of one program. LOAD_WORD: one of `words`, its number is stored; LOAD_SIZE: a number, also with k, M, G. */
struct load_option {
    const char *name, *help;
    enum load_kind kind;
    uint64_t *value;
    const char *const *words; /* ends with NULL */
    uint64_t least, most;     /* of a size */
};

struct load_program {
    const char *name, *stresses, *example;
    const char *unit; /* of what work returns: "B", "operations" */
    uint64_t volume;  /* default bound of a rank's amount; 0: none, it takes nothing but its node's time */
    int has_files;    /* wants folders */
    const struct load_option *options; /* ends with a NULL name */
    const char *const *counts;         /* names of load_run.counts, ends with NULL */
    /* NULL, or which options do not go together; may be missing. */
    const char *(*check)(void);
    /* Prepare; NULL, or what is wrong and how to mend it. */
    const char *(*begin)(struct load_run *run);
    /* Some milliseconds of work; returns how much was done, or LOAD_FAILED with errno set. */
    uint64_t (*work)(struct load_run *run);
    /* Undo begin, whether it succeeded or not; files in the folders are removed afterwards. May be missing. */
    void (*end)(struct load_run *run);
};

#define LOAD_FAILED UINT64_MAX

/* The whole program: returns its exit code (0 done, 1 failed, 2 wrong usage). */
int load_main(int argc, char **argv, const struct load_program *program);

/* UTC in nanoseconds. */
int64_t load_now_ns(void);
/* The next number of the run's own seeded sequence. */
uint64_t load_random(struct load_run *run);
/* Memory of whole pages filled with the run's random numbers, so that nothing compresses it away; NULL with errno. */
void *load_buffer(struct load_run *run, size_t size);

#endif
