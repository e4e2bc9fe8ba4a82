/*
 * What stress.c did, counted by itself: words in shared memory that all its threads and processes add to, one entry per
 * function that Crosswind counts.
 *
 * Two kinds of calls are not exact by nature, so they use functions of their own that are not compared (readv, writev,
 * recv, send): those of processes that are killed, and those that a signal handler makes or leaves by longjmp.
 */
#ifndef STRESS_TRUTH_H
#define STRESS_TRUTH_H

#include <stdint.h>
#include <stdio.h>

/* clang-format off */
#define COMPARED(X) \
    X(open) X(creat) X(close) X(read) X(write) X(pread) X(pwrite) X(lseek) X(dup) X(pipe) \
    X(unlink) X(rename) X(mkdir) X(rmdir) X(socketpair) X(sendto) X(recvfrom) \
    X(fopen) X(fopen_creat) X(fclose) X(fread) X(fwrite)
/* clang-format on */

#define ENUMERATOR(name) CALL_##name,
enum call { COMPARED(ENUMERATOR) N_CALLS };

struct truth {
    struct {
        uint64_t calls, out, in;
    } call[N_CALLS];
    uint64_t threads, forks, spawns, kills, jumps, signals, loads, users, cancels; /* what else happened */
    uint64_t errors;                                                               /* data that came back wrong */
};
extern struct truth *truth;

#define ADD(word, amount) ((void)__atomic_fetch_add(&(word), (uint64_t)(amount), __ATOMIC_RELAXED))

/* Note one call of `name` that moved what `result` says, and give `result` back. */
static inline long note(enum call name, long result, int writes, int reads)
{
    ADD(truth->call[name].calls, 1);
    if (result > 0) {
        ADD(truth->call[name].out, writes ? result : 0);
        ADD(truth->call[name].in, reads ? result : 0);
    }
    return result;
}

#define DO(name, ...) note(CALL_##name, name(__VA_ARGS__), 0, 0)
#define DO_OUT(name, ...) note(CALL_##name, name(__VA_ARGS__), 1, 0)
#define DO_IN(name, ...) note(CALL_##name, name(__VA_ARGS__), 0, 1)

/* The table, as tests/support/preload.py reads it: name, calls, bytes out, bytes in. */
static inline void truth_print(void)
{
    static const char *const names[] = {
#define NAME(name) #name,
        COMPARED(NAME)};
    printf("--\n");
    for (int i = 0; i < N_CALLS; i++)
        printf("%s %lu %lu %lu\n", names[i], (unsigned long)truth->call[i].calls, (unsigned long)truth->call[i].out,
               (unsigned long)truth->call[i].in);
}

#endif
