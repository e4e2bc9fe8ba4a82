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

/* X(result type, name, parameters, arguments) */
#define FUNCTIONS(X)                                                                                                   \
    X(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n))                                             \
    X(ssize_t, pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))                              \
    X(ssize_t, pwrite64, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))                            \
    X(size_t, fwrite, (const void *data, size_t size, size_t n, void *stream), (data, size, n, stream))                \
    X(int, MPI_Comm_rank, (long a, long b), (a, b))                                                                    \
    X(int, MPI_Send, (long a, long b, long c, long d, long e, long f), (a, b, c, d, e, f))                             \
    X(int, MPI_Recv, (long a, long b, long c, long d, long e, long f, long g), (a, b, c, d, e, f, g))                  \
    X(int, MPI_Allreduce, (long a, long b, long c, long d, long e, long f), (a, b, c, d, e, f))

#define FORWARD(type, name, parameters, arguments)                                                                     \
    static type(*real_##name) parameters;                                                                              \
    EXPORT type name parameters;                                                                                       \
    type name parameters                                                                                               \
    {                                                                                                                  \
        BEGIN;                                                                                                         \
        type result = real_##name arguments;                                                                           \
        END;                                                                                                           \
        return result;                                                                                                 \
    }
FUNCTIONS(FORWARD)

#define RESOLVE(type, name, parameters, arguments) real_##name = (type(*) parameters)dlsym(RTLD_NEXT, #name);
__attribute__((constructor)) static void resolve(void) { FUNCTIONS(RESOLVE) }
