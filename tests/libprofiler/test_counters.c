/* Threads that count while another thread closes slices: the sums are exact, whoever comes, goes or shares a block. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "init.h"
#include "process.h"

enum { THREADS = 40, CALLS = 100000 };

static char directory[64];
static int all_done;

static void *count(void *argument)
{
    (void)argument;
    for (int i = 0; i < CALLS; i++) {
        struct xw_call call = xw_enter_posix(0, XW_G_POSIX_DISK_WRITE);
        xw_leave(call, 0, XW_G_POSIX_DISK_WRITE, 3, 0);
    }
    return NULL;
}

static void *close_slices(void *argument)
{
    int *slices = argument;
    while (!__atomic_load_n(&all_done, __ATOMIC_ACQUIRE)) {
        xw_process_make_room(xw_process);
        xw_process_close_slice(xw_process, 0, 0);
        ++*slices;
        usleep(1000);
    }
    xw_process_close_slice(xw_process, XW_SLICE_LAST, 0);
    return NULL;
}

/* Sum of a column over all slice records of the process. */
static uint64_t sum_over_slices(unsigned column)
{
    uint64_t sum = 0;
    const struct xw_spool *spool = &xw_process->spool;
    for (uint32_t c = 0; c < spool->header->n_chunks; c++) {
        if (spool->header->chunk[c].kind != XW_CHUNK_SLICES)
            continue;
        struct decoded_slice slice;
        uint64_t previous = 0;
        uint32_t at = 0, size;
        while (at + 8 < spool->header->chunk[c].size && (size = decode_slice(spool->chunk[c] + at, previous, &slice))) {
            previous = slice.index;
            sum += slice.value[column];
            at += size;
        }
    }
    return sum;
}

static void test_sums_are_exact(void **state)
{
    (void)state;
    pthread_t closer, thread[THREADS];
    int slices = 0;
    count(NULL); /* counted in memory, before the process is published */
    xw_process_publish(xw_process);
    assert_true(xw_spool_is_published(&xw_process->spool));
    pthread_create(&closer, NULL, close_slices, &slices);
    for (int wave = 0; wave < 4; wave++) {
        for (int i = 0; i < THREADS / 4; i++)
            pthread_create(&thread[i], NULL, count, NULL);
        count(NULL);
        for (int i = 0; i < THREADS / 4; i++)
            pthread_join(thread[i], NULL);
    }
    __atomic_store_n(&all_done, 1, __ATOMIC_RELEASE);
    pthread_join(closer, NULL);

    const uint64_t expected = (uint64_t)CALLS * (THREADS + 5);
    struct xw_totals totals;
    xw_totals_read(&totals);
    assert_int_equal(totals.group[XW_G_POSIX_DISK_WRITE].calls, expected);
    assert_int_equal(totals.group[XW_G_POSIX_DISK_WRITE].bytes_out, 3 * expected);
    assert_int_equal(totals.function[0].calls, expected);
    assert_true(slices > 5);
    const char *text = XW_METRIC_TABLE_TEXT, *line = strstr(text, " posix_disk_write_calls ");
    unsigned column = 0;
    for (const char *p = text; p < line; p++)
        column += *p == '\n';
    assert_int_equal(sum_over_slices(column), expected);
}

/* Three wrapped calls, each further down the stack than the one before, as nested wrappers are. */
static __attribute__((noinline)) void innermost_read(void)
{
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_NET_READ);
    assert_false(call.outermost);
    xw_leave(call, 0, XW_G_POSIX_NET_READ, 0, 5);
}

static __attribute__((noinline)) void inner_write(void)
{
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_NET_WRITE);
    assert_true(call.outermost);
    assert_false(call.owns_time);
    innermost_read();
    xw_leave(call, 0, XW_G_POSIX_NET_WRITE, 8, 0);
}

static void test_nested_calls(void **state)
{
    (void)state;
    struct xw_totals before, after;
    xw_totals_read(&before);
    struct xw_call call = xw_enter_mpi(0, XW_G_MPI_IO);
    assert_true(call.owns_time);
    inner_write();
    xw_leave(call, 0, XW_G_MPI_IO, 8, 0);
    xw_totals_read(&after);
    assert_int_equal(after.group[XW_G_POSIX_NET_WRITE].calls - before.group[XW_G_POSIX_NET_WRITE].calls, 1);
    assert_int_equal(after.group[XW_G_POSIX_NET_WRITE].ticks,
                     before.group[XW_G_POSIX_NET_WRITE].ticks); /* the MPI call has it */
    assert_int_equal(after.group[XW_G_POSIX_NET_READ].calls,
                     before.group[XW_G_POSIX_NET_READ].calls); /* one layer counts once */
    assert_int_equal(after.group[XW_G_MPI_IO].calls - before.group[XW_G_MPI_IO].calls, 1);
}

static __attribute__((noinline)) void leave_by_longjmp(jmp_buf *back)
{
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_PIPE_READ);
    (void)call;
    longjmp(*back, 1);
}

/* A call left by longjmp loses itself and nothing else: the next one counts. */
static void test_abandoned_call(void **state)
{
    (void)state;
    jmp_buf back;
    struct xw_totals before, after;
    if (!setjmp(back))
        leave_by_longjmp(&back);
    xw_totals_read(&before);
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_PIPE_READ);
    assert_true(call.outermost);
    xw_leave(call, 0, XW_G_POSIX_PIPE_READ, 0, 1);
    xw_totals_read(&after);
    assert_int_equal(after.group[XW_G_POSIX_PIPE_READ].calls - before.group[XW_G_POSIX_PIPE_READ].calls, 1);
}

/* A vfork child runs in our memory under a number of its own, soon nobody's: its call must not choose our block. */
static void test_a_vfork_child_leaves_the_thread_its_block(void **state)
{
    (void)state;
    xw_thread.generation = 0; /* as in a thread that has not counted yet */
    xw_thread.ticket = XW_NO_TICKET;
    pid_t child = vfork();
    if (!child) {
        struct xw_call call = xw_enter_posix(0, XW_G_POSIX_DISK_WRITE);
        xw_leave(call, 0, XW_G_POSIX_DISK_WRITE, 1, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_DISK_WRITE);
    xw_leave(call, 0, XW_G_POSIX_DISK_WRITE, 1, 0);
    assert_int_equal(call.block->head.tid, getpid());
}

/* The file is made while a call runs: the call is published where the thread counts from then on, and ends there. */
static __attribute__((noinline)) void inner_read(void)
{
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_NET_READ);
    assert_true(call.outermost);
    assert_false(call.owns_time);
    xw_leave(call, 0, XW_G_POSIX_NET_READ, 0, 1);
}

static void test_a_running_call_moves_with_its_thread(void **state)
{
    (void)state;
    struct xw_totals before, after;
    xw_totals_read(&before);
    struct xw_call call = xw_enter_mpi(0, XW_G_MPI_IO);
    struct xw_thread_block *old = xw_thread.block, *own;
    const uint64_t since = old->head.call_since;
    __atomic_fetch_add(&xw_hot.generation, XW_PUBLISHED, __ATOMIC_RELEASE);
    old->head.tid = 0; /* as if the blocks were new ones */
    inner_read();
    own = xw_thread.block;
    assert_ptr_not_equal(own, old);
    assert_int_equal(old->head.call_group, 0);
    assert_int_equal(own->head.call_group, XW_G_MPI_IO + 1);
    assert_true(own->head.call_since == since);
    xw_leave(call, 0, XW_G_MPI_IO, 0, 0);
    assert_int_equal(own->head.call_group, 0);
    assert_int_equal(xw_thread.outermost, 0);
    xw_totals_read(&after);
    assert_int_equal(after.group[XW_G_MPI_IO].calls - before.group[XW_G_MPI_IO].calls, 1);
    assert_int_equal(after.group[XW_G_POSIX_NET_READ].calls - before.group[XW_G_POSIX_NET_READ].calls, 1);
}

/* The same without a call inside: it ends in the block in which it began. */
static void test_a_call_ends_after_the_file_was_made(void **state)
{
    (void)state;
    struct xw_totals before, after;
    xw_totals_read(&before);
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_PIPE_READ);
    struct xw_thread_block *old = xw_thread.block;
    __atomic_fetch_add(&xw_hot.generation, XW_PUBLISHED, __ATOMIC_RELEASE);
    xw_leave(call, 0, XW_G_POSIX_PIPE_READ, 0, 1);
    assert_int_equal(old->head.call_group, 0);
    xw_totals_read(&after);
    assert_int_equal(after.group[XW_G_POSIX_PIPE_READ].calls - before.group[XW_G_POSIX_PIPE_READ].calls, 1);
}

/* A signal handler forks while a call runs, and returns in the child too: there the thread's block is gone. */
static void test_a_child_leaves_its_parents_call(void **state)
{
    (void)state;
    struct xw_call call = xw_enter_posix(0, XW_G_POSIX_PIPE_READ);
    pid_t child = fork();
    xw_leave(call, 0, XW_G_POSIX_PIPE_READ, 0, 1);
    if (!child) {
        struct xw_call own = xw_enter_posix(0, XW_G_POSIX_PIPE_WRITE);
        int good = own.outermost && own.owns_time && own.block->head.tid == (uint32_t)getpid();
        xw_leave(own, 0, XW_G_POSIX_PIPE_WRITE, 1, 0);
        _exit(good && own.block->group[XW_G_POSIX_PIPE_READ].calls == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* POSIX calls inside MPI calls are told apart from a segment's own I/O, and PAPI's are not counted at all. */
static void test_calls_inside_and_silence(void **state)
{
    (void)state;
    xw_thread_block_slow();
    struct xw_thread_block *block = xw_thread.block;
    struct xw_call call = xw_enter_mpi(0, XW_G_MPI_IO);
    block->head.io_seen = 0;
    const uint64_t calls = block->head.inside_calls, bytes = block->head.inside_bytes;
    inner_read();
    assert_int_equal(block->head.inside_calls - calls, 1);
    assert_int_equal(block->head.inside_bytes - bytes, 1);
    assert_int_equal(block->head.io_seen, 0);
    xw_leave(call, 0, XW_G_MPI_IO, 0, 0);
    call = xw_enter_posix(0, XW_G_POSIX_NET_READ);
    xw_leave(call, 0, XW_G_POSIX_NET_READ, 0, 1);
    assert_int_equal(block->head.io_seen, 1);
    xw_thread.outermost = XW_MARK_SILENT;
    call = xw_enter_posix(0, XW_G_POSIX_NET_READ);
    assert_false(call.outermost);
    xw_leave(call, 0, XW_G_POSIX_NET_READ, 0, 1);
    assert_int_equal(xw_thread.outermost, XW_MARK_SILENT);
    xw_thread.outermost = 0;
}

/* The chunk table is bounded: its entries must hold the slices of jobs that run for weeks. */
static void test_the_slice_log_grows_in_growing_steps(void **state)
{
    (void)state;
    struct xw_spool *spool = &xw_process->spool;
    uint64_t room = 0;
    xw_process_publish(xw_process);
    for (int i = 0; i < 10; i++) {
        xw_process_make_room(xw_process);
        room += xw_log_room(spool, &spool->slices);
        while (xw_log_begin(spool, &spool->slices, 1) >= 0)
            spool->slices.used = spool->slices.size; /* as if it were full */
    }
    assert_true(room > 4u << 20);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/crosswind-unit-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    xw_tls_self_offset = 16;
    xw_config_read(&xw_config, NULL);
    snprintf(xw_config.spool, sizeof xw_config.spool, "%s", directory);
    xw_config.slice_ns = 100000000;
    return xw_process_set_up() ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove(xw_process->spool.path);
    return remove(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_exact),
        cmocka_unit_test(test_nested_calls),
        cmocka_unit_test(test_abandoned_call),
        cmocka_unit_test(test_calls_inside_and_silence),
        cmocka_unit_test(test_a_child_leaves_its_parents_call),
        cmocka_unit_test(test_a_vfork_child_leaves_the_thread_its_block),
        cmocka_unit_test(test_the_slice_log_grows_in_growing_steps),
        cmocka_unit_test(test_a_call_ends_after_the_file_was_made),
        cmocka_unit_test(test_a_running_call_moves_with_its_thread),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
