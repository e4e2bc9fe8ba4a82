#include "heartbeat.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "descriptors.h"
#include "init.h"
#include "process.h"

enum {
    GUARD = 4096,
    STACK = 16384,
    STOP_TIMEOUT_NS = 1000000000,
    RESTART_AFTER_NS = 1000000000,
    START_TIMEOUT_NS = 100000000,
    CLOCK_REAL = 0,
    CLOCK_MONO = 1,
};

enum { E_AGAIN = -11, E_INTR = -4, E_TIMEDOUT = -110 };

struct timespec64 {
    int64_t s, ns;
};

/* --- the clone --- */

/*
 * The child finds function and argument on its stack, calls the one with the other, and exits. It never returns into C
 * code of ours on the caller's stack, and has neither a thread control block of its own nor anything of libc.
 */
long xw_clone_helper(uint64_t flags, void *stack_top, uint32_t *parent_tid, uint32_t *child_tid,
                     void (*function)(struct xw_process *), struct xw_process *argument) XW_HIDDEN;
__asm__(".text\n"
        ".p2align 4\n"
        ".hidden xw_clone_helper\n"
        ".globl xw_clone_helper\n"
        ".type xw_clone_helper, @function\n"
        "xw_clone_helper:\n"
        "    .cfi_startproc\n"
        "    sub $16, %rsi\n"
        "    mov %r8, 0(%rsi)\n" /* function */
        "    mov %r9, 8(%rsi)\n" /* argument */
        "    mov %rcx, %r10\n"   /* child tid */
        "    xor %r8d, %r8d\n"   /* no thread-local storage */
        "    mov $56, %eax\n"    /* clone */
        "    syscall\n"
        "    test %rax, %rax\n"
        "    jz 1f\n"
        "    ret\n"
        "1:  .cfi_undefined rip\n" /* the end of the stack, for debuggers */
        "    xor %ebp, %ebp\n"
        "    pop %rax\n"
        "    pop %rdi\n"
        "    call *%rax\n"
        "    mov $60, %eax\n" /* exit, of this thread alone */
        "    xor %edi, %edi\n"
        "    syscall\n"
        "    hlt\n"
        "    .cfi_endproc\n"
        ".size xw_clone_helper, .-xw_clone_helper\n");

/* --- the helper's own life: raw system calls, no %fs, no PLT --- */

/* Leave what is the program's: its descriptors stay its own, and its working directory is not ours to keep busy. */
static int settle(struct xw_process *process)
{
    if (!xw_descriptors_leave(process->scratch, sizeof process->scratch))
        return 0;
    if (!xw_failed(xw_syscall(SYS_unshare, CLONE_FS)))
        xw_syscall(SYS_chdir, "/");
    return 1;
}

/*
 * Sleep until the boundary `due_ns` of the real-time clock or until woken; 1: the boundary has come, 0: woken, or the
 * clock was set back a little, -1: something is wrong. It sleeps by the monotonic clock, so that it wakes in time
 * whatever becomes of the other one.
 */
static int sleep_until(struct xw_helper *helper, uint32_t seen, uint64_t due_ns, uint64_t slice_ns)
{
    const uint64_t real_ns = xw_clock_ns(CLOCK_REAL);
    const uint64_t until_ns = xw_clock_ns(CLOCK_MONO) + (due_ns > real_ns ? due_ns - real_ns : 0);
    struct timespec64 until = {(int64_t)(until_ns / 1000000000u), (int64_t)(until_ns % 1000000000u)};
    long result = xw_syscall(SYS_futex, &helper->wake, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, &until, 0,
                             FUTEX_BITSET_MATCH_ANY);
    const uint64_t now_ns = xw_clock_ns(CLOCK_REAL);
    if (now_ns >= due_ns || now_ns + slice_ns < due_ns) /* that far back: this slice will never end */
        return 1;
    return result == 0 || result == E_AGAIN || result == E_INTR || result == E_TIMEDOUT ? 0 : -1;
}

/* Close a slice at each boundary until told to stop. */
static void beat(struct xw_process *process, int self)
{
    struct xw_helper *helper = &process->helper;
    const uint64_t slice_ns = process->spool.header->slice_ns;
    for (;;) {
        const uint64_t due = (xw_clock_ns(CLOCK_REAL) / slice_ns + 1) * slice_ns;
        int slept = 0;
        while (slept == 0) {
            uint32_t seen = __atomic_load_n(&helper->wake, __ATOMIC_ACQUIRE);
            if (__atomic_load_n(&helper->stop, __ATOMIC_ACQUIRE))
                return;
            xw_process_make_room(process);
            slept = sleep_until(helper, seen, due, slice_ns);
        }
        if (slept < 0 || __atomic_load_n(&helper->stop, __ATOMIC_ACQUIRE))
            return;
        xw_perf_read(&process->perf);
        if (xw_spool_is_published(&process->spool))
            xw_process_close_slice(process, 0, self);
    }
}

static void helper_main(struct xw_process *process)
{
    const int self = (int)xw_syscall(SYS_gettid);
    const int settled = settle(process);
    xw_process_publish(process); /* here, where its descriptors are nobody's business */
    if (!settled) {
        xw_count_lost(XW_LOST_HELPER);
        return;
    }
    xw_process_make_room(process);
    xw_perf_open(&process->perf, xw_perf_parse(xw_config.events), (int)process->pid, self);
    xw_perf_describe(&process->perf, process->spool.header->counters, sizeof process->spool.header->counters);
    beat(process, self);
    xw_perf_close(&process->perf);
    xw_process_stats_helper_ends(&process->stats);
}

/* --- start and stop --- */

static uint8_t *stack_of(struct xw_helper *helper)
{
    if (helper->stack)
        return helper->stack;
    long at = xw_syscall(SYS_mmap, 0, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (xw_failed(at))
        return NULL;
    xw_syscall(SYS_mprotect, at, GUARD, PROT_NONE);
    return helper->stack = (uint8_t *)at + GUARD;
}

static int change_state(struct xw_helper *helper, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&helper->state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int may_start(const struct xw_helper *helper)
{
    return !__atomic_load_n(&helper->forbidden, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&helper->inhibited, __ATOMIC_ACQUIRE);
}

void xw_heartbeat_start(void)
{
    const uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                           CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    struct xw_process *process = xw_process;
    if (!xw_process_is_mine() || !may_start(&process->helper) ||
        !change_state(&process->helper, XW_HELPER_NONE, XW_HELPER_STARTING))
        return;
    struct xw_helper *helper = &process->helper;
    xw_set_helper_after(&process->hot, ~0ul); /* wrappers need not look any more */
    helper->stop = 0;
    helper->alive = 1;
    uint8_t *stack = stack_of(helper);
    long tid = -1;
    if (stack) {
        /* The helper must never run a signal handler of the program: it inherits a mask that blocks all. */
        const uint64_t before = xw_block_signals();
        tid = xw_clone_helper(flags, stack + STACK, &helper->alive, &helper->alive, helper_main, process);
        xw_restore_signals(before);
    }
    if (!stack || xw_failed(tid)) { /* no task to be had: never again, and not a word */
        helper->alive = 0;
        xw_count_lost(XW_LOST_HELPER);
        __atomic_store_n(&helper->state, XW_HELPER_BROKEN, __ATOMIC_RELEASE);
        return;
    }
    helper->tid = (int32_t)tid;
    __atomic_store_n(&helper->state, XW_HELPER_RUNS, __ATOMIC_RELEASE);
}

static int is_gone(const struct xw_process *process)
{
    return xw_syscall(SYS_tgkill, process->pid, process->helper.tid, 0) == -3;
}

/* Wait until the kernel has cleared `alive` and then until it has forgotten the thread: the one comes before the other.
 */
static int wait_until_gone(struct xw_process *process)
{
    const uint64_t give_up = xw_clock_ns(CLOCK_MONO) + STOP_TIMEOUT_NS;
    struct timespec64 step = {0, 5000000};
    uint32_t alive;
    while ((alive = __atomic_load_n(&process->helper.alive, __ATOMIC_ACQUIRE)) && xw_clock_ns(CLOCK_MONO) < give_up)
        xw_syscall(SYS_futex, &process->helper.alive, FUTEX_WAIT, alive,
                   &step); /* not private: the kernel wakes the shared key */
    while (!is_gone(process) && xw_clock_ns(CLOCK_MONO) < give_up)
        xw_syscall(SYS_sched_yield);
    return is_gone(process);
}

/* Another thread starts or stops it right now: wait for that, so that the caller can rely on it. */
static void wait_for_others(const struct xw_helper *helper, uint32_t state, uint64_t timeout_ns)
{
    const uint64_t give_up = xw_clock_ns(CLOCK_MONO) + timeout_ns;
    while (__atomic_load_n(&helper->state, __ATOMIC_ACQUIRE) == state && xw_clock_ns(CLOCK_MONO) < give_up)
        xw_syscall(SYS_sched_yield);
}

static void look_again_later(struct xw_process *process)
{
    if (process->clock == XW_CLOCK_OFF) {
        xw_set_helper_after(&process->hot, 0);
        return;
    }
    struct xw_instant now;
    xw_process_instant(process, &now);
    uint64_t hz = xw_tick_hz(process->spool.header);
    xw_set_helper_after(&process->hot, now.tick + (hz ? hz : RESTART_AFTER_NS) / 1000000000u * RESTART_AFTER_NS);
}

void xw_heartbeat_stop(void)
{
    struct xw_process *process = xw_process;
    if (!xw_process_is_mine())
        return;
    struct xw_helper *helper = &process->helper;
    wait_for_others(helper, XW_HELPER_STARTING, START_TIMEOUT_NS);
    if (!change_state(helper, XW_HELPER_RUNS, XW_HELPER_STOPPING)) {
        wait_for_others(helper, XW_HELPER_STOPPING, STOP_TIMEOUT_NS);
        return;
    }
    __atomic_store_n(&helper->stop, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&helper->wake, 1, __ATOMIC_RELEASE);
    xw_syscall(SYS_futex, &helper->wake, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
    int gone = wait_until_gone(process);
    if (gone)
        look_again_later(process);
    __atomic_store_n(&helper->state, gone ? XW_HELPER_NONE : XW_HELPER_BROKEN, __ATOMIC_RELEASE);
}

void xw_heartbeat_inhibit(void)
{
    if (!xw_process_is_mine())
        return;
    __atomic_fetch_add(&xw_process->helper.inhibited, 1, __ATOMIC_SEQ_CST);
    xw_heartbeat_stop();
}

void xw_heartbeat_allow(void)
{
    if (xw_process_is_mine() && __atomic_load_n(&xw_process->helper.inhibited, __ATOMIC_RELAXED))
        __atomic_fetch_sub(&xw_process->helper.inhibited, 1, __ATOMIC_SEQ_CST);
}

static void stop_for_ever(struct xw_process *process)
{
    __atomic_store_n(&process->helper.forbidden, 1, __ATOMIC_SEQ_CST);
    xw_heartbeat_stop();
    xw_set_helper_after(&process->hot, ~0ul);
}

void xw_heartbeat_forbid(void)
{
    if (!xw_process_is_mine())
        return;
    stop_for_ever(xw_process);
    __atomic_store_n(&xw_sealed, 1, __ATOMIC_SEQ_CST);
}

void xw_heartbeat_permit(void)
{
    struct xw_process *process = xw_process;
    if (!process || !process->hot.generation || xw_config.no_helper || process->ended)
        return;
    __atomic_store_n(&xw_sealed, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&process->helper.forbidden, 0, __ATOMIC_SEQ_CST);
    look_again_later(process);
}

void xw_heartbeat_finish(void)
{
    if (xw_process_is_mine())
        stop_for_ever(xw_process);
}

int xw_heartbeat_give_back(void)
{
    if (!xw_process_is_mine() || !xw_heartbeat_runs())
        return 0;
    stop_for_ever(xw_process);
    xw_count_lost(XW_LOST_HELPER);
    return 1;
}

int xw_heartbeat_runs(void)
{
    return xw_process && __atomic_load_n(&xw_process->helper.state, __ATOMIC_ACQUIRE) == XW_HELPER_RUNS;
}

void xw_heartbeat_wake(void)
{
    if (!xw_heartbeat_runs())
        return;
    __atomic_fetch_add(&xw_process->helper.wake, 1, __ATOMIC_RELEASE);
    xw_syscall(SYS_futex, &xw_process->helper.wake, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}
