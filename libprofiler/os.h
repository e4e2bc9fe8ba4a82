/*
 * The operating system as the library sees it: raw system calls, clocks, the cycle counter. The only file that
 * knows the processor. Nothing here touches errno, thread-local storage, the PLT or the heap, so all of it may be
 * used by the helper thread, which has none of them.
 */
#ifndef XW_OS_H
#define XW_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if !defined(__x86_64__)
#error "Crosswind's library knows x86-64 only so far"
#endif

#define XW_HIDDEN __attribute__((visibility("hidden")))
#define XW_EXPORT __attribute__((visibility("default")))
#define XW_LIKELY(x) __builtin_expect(!!(x), 1)
#define XW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define XW_NOINLINE __attribute__((noinline))

/* A raw system call: the result or -errno. */
static inline __attribute__((always_inline)) long xw_syscall6(long n, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#define xw_syscall(...) XW_SYSCALL_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define XW_SYSCALL_(n, a, b, c, d, e, f, ...)                                                                          \
    xw_syscall6((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Whether a raw system call failed. */
static inline int xw_failed(long result) { return (unsigned long)result > (unsigned long)-4096L; }

/* A clock in ns; `clock` is CLOCK_REALTIME (0), CLOCK_MONOTONIC (1), CLOCK_PROCESS_CPUTIME_ID (2),
   CLOCK_THREAD_CPUTIME_ID (3), CLOCK_BOOTTIME (7). A system call, some 60-230 ns. */
static inline uint64_t xw_clock_ns(int clock)
{
    struct {
        int64_t s, ns;
    } t = {0, 0};
    xw_syscall(SYS_clock_gettime, clock, &t);
    return (uint64_t)t.s * 1000000000u + (uint64_t)t.ns;
}

static inline uint64_t xw_rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}

/* Whether valgrind runs the program, by its documented request. On a real processor the rotations cancel out. */
static inline int xw_runs_on_valgrind(void)
{
    const uint64_t request[6] = {0x1001};
    uint64_t answer = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(request)
                     : "cc", "memory");
    return answer != 0;
}

/* Add to a word that no other thread writes. One instruction, whose store other threads see as a whole; not atomic as a
 * whole. */
static inline __attribute__((always_inline)) void xw_add_to_own(uint64_t *word, uint64_t amount)
{
    __asm__("addq %1, %0" : "+m"(*word) : "re"(amount));
}

static inline __attribute__((always_inline)) uintptr_t xw_stack_pointer(void)
{
    uintptr_t sp;
    __asm__ volatile("mov %%rsp, %0" : "=r"(sp));
    return sp;
}

/*
 * Whether the caller has a real thread control block. Sandboxes (Chromium's zygote) call libc with a made-up one, where
 * any access to thread-local storage faults. `self_offset` is where libc keeps a pointer to the block itself besides
 * offset 0 (glibc: 16, others: 0).
 */
static inline int xw_tls_usable(uintptr_t self_offset)
{
    uintptr_t base, self;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(base));
    __asm__ volatile("mov %%fs:(%1), %0" : "=r"(self) : "r"(self_offset));
    return base && base == self;
}

#endif
