/*
 * Known interference: a preload library that holds chosen functions up by Gaussian delays, and writes down what it
 * added. (After intM, the injector of the thesis, section 5.2.1.)
 *
 *     program --> MPI_Send --> this library: inject_enter() delays --> the next MPI_Send in load order
 *
 * It stands behind the profiler in LD_PRELOAD, so that the profiler sees the delay as the program does. A testing tool:
 * it is linked against libc and exports the names that it holds up, unlike the profiler.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdint.h>

/* Names of all functions that can be held up, POSIX ones first; numbers are indices into it. */
extern const char *const inject_names[];
extern const unsigned inject_n_names;

/* What to do, from CROSSWIND_INJECT_* (plan.c). */
struct inject_plan {
    int active; /* this process is one of those meant */
    double mean_ns, deviation_ns;
    double probability; /* that a call is held up */
    uint64_t seed;
    int32_t rank;          /* -1: none */
    int busy;              /* spin instead of sleeping: takes CPU time */
    double period_s, duty; /* active for `duty` of every `period_s`; 0: always */
    unsigned n_episodes;   /* active in these stretches, seconds since the process began; 0: always */
    struct {
        double begin_s, end_s;
    } episode[64];
    char log[512]; /* directory of the logs; empty: none */
};
extern struct inject_plan inject_plan;

void inject_read_plan(struct inject_plan *plan, unsigned char *chosen);

/* Around the call that is held up. Only the outermost of nested ones is. */
void inject_enter(unsigned function);
void inject_leave(void);
/* The next definition of a name behind this library; looked up once per caller. */
void *inject_next(void **kept, const char *name);

#endif
