/*
 * What a wrapper costs at the least: a preload library that only forwards the calls which the benchmark makes. Built
 * twice, the second time with READ_TICKS: then it also reads the cycle counter before and after, and keeps the
 * difference. MPI's arguments are passed on as words; it needs no header and fits any MPI.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef READ_TICKS
static __thread uint64_t ticks __attribute__((tls_model("initial-exec")));
static inline uint64_t tick(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}
#define BEGIN uint64_t begin = tick()
#define END __atomic_store_n(&ticks, ticks + (tick() - begin), __ATOMIC_RELAXED)
#else
#define BEGIN (void)0
#define END (void)0
#endif

/* X(result type, name, parameters, arguments); of MPI all arguments are words: X(name, parameters and arguments) */
#define POSIX(X)                                                                                                       \
    X(ssize_t, read, (int fd, void *data, size_t n), (fd, data, n))                                                    \
    X(ssize_t, pread, (int fd, void *data, size_t n, off_t at), (fd, data, n, at))                                     \
    X(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))                                             \
    X(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))                              \
    X(off_t, lseek, (int fd, off_t at, int from), (fd, at, from))                                                      \
    X(int, open, (const char *path, int flags, unsigned mode), (path, flags, mode))                                    \
    X(int, close, (int fd), (fd))                                                                                      \
    X(int, stat, (const char *path, void *st), (path, st))                                                             \
    X(size_t, fread, (void *data, size_t size, size_t n, void *stream), (data, size, n, stream))                       \
    X(size_t, fwrite, (const void *data, size_t size, size_t n, void *stream), (data, size, n, stream))                \
    X(char *, fgets, (char *line, int size, void *stream), (line, size, stream))                                       \
    X(int, fputs, (const char *text, void *stream), (text, stream))                                                    \
    X(int, putc, (int c, void *stream), (c, stream))

#define WORDS_1 (long a), (a)
#define WORDS_2 (long a, long b), (a, b)
#define WORDS_3 (long a, long b, long c), (a, b, c)
#define WORDS_5 (long a, long b, long c, long d, long e), (a, b, c, d, e)
#define WORDS_6 (long a, long b, long c, long d, long e, long f), (a, b, c, d, e, f)
#define WORDS_7 (long a, long b, long c, long d, long e, long f, long g), (a, b, c, d, e, f, g)
#define WORDS_8 (long a, long b, long c, long d, long e, long f, long g, long h), (a, b, c, d, e, f, g, h)
#define MPI(X)                                                                                                         \
    X(MPI_Comm_rank, WORDS_2)                                                                                          \
    X(MPI_Type_size, WORDS_2)                                                                                          \
    X(MPI_Test, WORDS_3)                                                                                               \
    X(MPI_Wait, WORDS_2)                                                                                               \
    X(MPI_Iprobe, WORDS_5)                                                                                             \
    X(MPI_Send, WORDS_6)                                                                                               \
    X(MPI_Recv, WORDS_7)                                                                                               \
    X(MPI_Isend, WORDS_7)                                                                                              \
    X(MPI_Irecv, WORDS_7)                                                                                              \
    X(MPI_Bcast, WORDS_5)                                                                                              \
    X(MPI_Allreduce, WORDS_6)                                                                                          \
    X(MPI_Barrier, WORDS_1)                                                                                            \
    X(MPI_Put, WORDS_8)                                                                                                \
    X(MPI_Win_fence, WORDS_2)                                                                                          \
    X(MPI_File_write_at, WORDS_6)

static void resolve(void);

#define FORWARD(type, name, parameters, arguments)                                                                     \
    static type(*real_##name) parameters;                                                                              \
    EXPORT type name parameters;                                                                                       \
    type name parameters                                                                                               \
    {                                                                                                                  \
        if (__builtin_expect(!real_##name, 0))                                                                         \
            resolve(); /* a library's constructor calls it before ours has run */                                      \
        BEGIN;                                                                                                         \
        type result = real_##name arguments;                                                                           \
        END;                                                                                                           \
        return result;                                                                                                 \
    }
#define FORWARD_WORDS(name, words) FORWARD_EXPANDED(int, name, words)
#define FORWARD_EXPANDED(...) FORWARD(__VA_ARGS__)
POSIX(FORWARD)
MPI(FORWARD_WORDS)

#define RESOLVE(type, name, parameters, arguments) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
#define RESOLVE_WORDS(name, words) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
__attribute__((constructor)) static void resolve(void) { POSIX(RESOLVE) MPI(RESOLVE_WORDS) }
