/* Segments cut by hand: which calls count, in which thread, and what a cut makes of odd clocks and requests. */
#include "unit.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call_sites.h"
#include "decode.h"
#include "mpi/pending.h"
#include "segment.h"
#include "segment_feed.h"

enum { BARRIER = 1, WAITALL = 2, NULL_REQUEST = 7, SLOTS_OF_A_KIND = 32, MODULE_BASE = 0x10000 };

struct xw_mpi xw_mpi = {.handle_size = 8, .handle_mask = ~UINT64_C(0), .request_null = NULL_REQUEST};
static char directory[64];
static int papi_calls;

/* --- what segments need of the rest of the library --- */

uint64_t xw_call_site(unsigned function, const void *return_address)
{
    return function + 1 + (uintptr_t)return_address;
}
void xw_call_sites_modules_changed(void) {}
__thread struct xw_fortran_call xw_fortran_call;
int xw_call_place_in_module(uintptr_t place, struct xw_module_place *found)
{
    *found = (struct xw_module_place){.offset = place - MODULE_BASE, .module = "libexample.so"};
    return place >= MODULE_BASE;
}
uint32_t xw_papi_start(uint32_t wanted)
{
    (void)wanted;
    return 1;
}
int xw_papi_read(uint64_t values[XW_PAPI_N])
{
    papi_calls++;
    values[XW_PAPI_INSTRUCTIONS] = values[XW_PAPI_FLOPS] = (uint64_t)papi_calls;
    return 1;
}

/* --- helpers --- */

static uint64_t worlds(void) { return xw_process->segments.world; }

static void cut(void)
{
    xw_segment_boundary();
    xw_segment_cut(BARRIER, NULL, 1);
}

/* How many segments there are with the next cut, its own not counted. */
static uint64_t made_up_for(void)
{
    const uint64_t before = worlds();
    cut();
    return worlds() - before - 1;
}

static void in_another_thread(void *(*work)(void *), void *argument)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, argument);
    pthread_join(thread, NULL);
}

static xw_word address(const uint64_t *requests) { return (xw_word)requests; }

/* A wait for all the requests; returns how many of them ended. */
static uint32_t wait_for(const uint64_t *requests, int32_t n)
{
    return xw_mpi_pending_done(xw_mpi_pending_find(address(requests), n, 1), NULL,
                               (struct xw_mpi_completed){.waits = 1});
}

/* --- threads --- */

static void *cut_there(void *n)
{
    xw_thread_block_slow();
    xw_segment_cut(BARRIER, NULL, *(uint32_t *)n);
    return NULL;
}

static void *begin_there(void *nothing)
{
    uint64_t request = 100;
    xw_thread_block_slow();
    xw_mpi_pending_add(address(&request), BARRIER, 0);
    assert_int_equal(wait_for(&request, 1), 0); /* counted where it began */
    return nothing;
}

static void test_collectives_of_other_threads_are_made_up_for(void **state)
{
    (void)state;
    uint32_t n = 1;
    in_another_thread(cut_there, &n);
    in_another_thread(begin_there, NULL);
    assert_int_equal(made_up_for(), 2);
    assert_int_equal(made_up_for(), 0);
}

/* In a moment, into few rows, whose edges ranks that cut one by one have, too. */
static void test_millions_are_merged(void **state)
{
    (void)state;
    struct xw_segment_store *store = &xw_process->segment_store;
    const uint64_t lost = xw_process->spool.header->lost[XW_LOST_SEGMENTS];
    uint32_t n = 3000001;
    in_another_thread(cut_there, &n);
    const uint32_t used = store->used;
    assert_int_equal(made_up_for(), n);
    assert_true(store->used - used <= 1 + 64 + 3);
    for (store->level = 4, n = 1000; store->level < 6; store->level++)
        for (int i = 0; i < 100; i++) {
            in_another_thread(cut_there, &n);
            cut();
            assert_true(store->open.head.worlds < 1u << store->level);
        }
    store->level = 0;
    assert_int_equal(xw_process->spool.header->lost[XW_LOST_SEGMENTS], lost);
}

static void test_a_forked_child_counts_nothing(void **state)
{
    (void)state;
    const pid_t child = fork();
    if (!child) {
        uint64_t request = 100;
        cut();
        xw_segment_missed(1);
        xw_mpi_pending_add(address(&request), BARRIER, 0);
        _exit(xw_process->segments.missed || xw_process->segments.world || xw_mpi_pending());
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void test_nothing_counts_after_the_end(void **state)
{
    (void)state;
    uint32_t n = 1;
    uint64_t request = 100;
    xw_segment_finish(BARRIER);
    cut();
    in_another_thread(cut_there, &n);
    xw_mpi_pending_add(address(&request), BARRIER, 1);
    xw_mpi_pending_add(address(&request), BARRIER, 0);
    assert_int_equal(xw_process->segments.missed, 0);
    assert_int_equal(xw_mpi_pending() | xw_mpi_persistent(), 0);
    xw_segment_start();
}

/* --- names of places --- */

static uint32_t place_of_cut(uintptr_t return_address)
{
    xw_segment_boundary();
    xw_segment_cut(BARRIER, (const void *)return_address, 1);
    return xw_process->segment_store.open.head.call >> XW_PLACE_SHIFT; /* it stays when the row is closed */
}

/* The n-th record of the log: its four numbers, and the name behind them. Returns how many bytes that has. */
static uint64_t named_place(unsigned n, uint64_t number[3], const char **name)
{
    const uint8_t *at = xw_spool_area(&xw_process->spool, XW_CHUNK_SITES);
    for (; n; n--)
        at += 8 + (*(const uint32_t *)at + 3) / 4 * 4;
    const uint8_t *payload = at + 8;
    for (unsigned i = 0; i < 3; i++)
        number[i] = get_varint(&payload);
    const uint64_t length = get_varint(&payload);
    assert_int_equal((uint64_t)(payload - (at + 8)) + length, *(const uint32_t *)at);
    *name = (const char *)payload;
    return length;
}

static void test_a_place_is_named_once(void **state)
{
    (void)state;
    uint64_t number[3];
    const char *name;
    assert_int_equal(place_of_cut(MODULE_BASE + 16), 1);
    assert_int_equal(place_of_cut(MODULE_BASE + 0x123456), 2);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(place_of_cut(MODULE_BASE + 16), 1);
    assert_int_equal(xw_process->site_names.n_named, 2);
    assert_int_equal(named_place(1, number, &name), strlen("libexample.so"));
    assert_memory_equal(name, "libexample.so", strlen("libexample.so"));
    assert_int_equal(number[0], 2);
    assert_int_equal(number[1], BARRIER);
    assert_int_equal(number[2], 0x123456);
}

static void test_the_function_is_part_of_a_place(void **state)
{
    (void)state;
    const void *place = (const void *)(uintptr_t)(MODULE_BASE + 16);
    assert_int_equal(xw_site_call(xw_process, BARRIER, place) >> XW_PLACE_SHIFT, 1);
    assert_int_equal(xw_site_call(xw_process, WAITALL, place) >> XW_PLACE_SHIFT, 3);
}

/* A place that was met before there was room for its name, and one that a child meets which was forked in the call. */
static void test_a_place_is_named_when_there_is_a_log(void **state)
{
    (void)state;
    static struct xw_process early; /* all zeros, as in a child */
    const void *place = (const void *)(uintptr_t)(MODULE_BASE + 48);
    assert_int_equal(xw_site_call(&early, BARRIER, place), BARRIER);
    assert_int_equal(early.site_names.n_keys, 0);
    early.spool = xw_process->spool;
    early.spool.sites.used = 8192 - 64; /* not where the names of the others are */
    early.site_names.n_named = 40;
    assert_int_equal(xw_site_call(&early, BARRIER, place), BARRIER | 41 << XW_PLACE_SHIFT);
}

static void test_what_has_no_name_has_no_number(void **state)
{
    (void)state;
    assert_int_equal(place_of_cut(0), 0);
    assert_int_equal(place_of_cut(MODULE_BASE - 16), 0); /* in no module */
    __atomic_store_n(&xw_sealed, 1, __ATOMIC_RELAXED);
    assert_int_equal(place_of_cut(MODULE_BASE + 4000), 0);
    assert_int_equal(place_of_cut(MODULE_BASE + 16), 1);
    __atomic_store_n(&xw_sealed, 0, __ATOMIC_RELAXED);
}

static void test_names_are_bounded(void **state)
{
    (void)state;
    uint64_t number[3];
    const char *name;
    uint32_t last = 0;
    for (uintptr_t i = 1; i <= 1000; i++) {
        const uint32_t place = place_of_cut(MODULE_BASE + 64 * i);
        last = place ? place : last;
    }
    const struct xw_site_names *names = &xw_process->site_names;
    assert_int_equal(names->n_keys, XW_SITE_NAMES);
    assert_int_equal(names->n_named, last);
    assert_true(last > 150);
    named_place(last - 1, number, &name);
    assert_int_equal(number[0], last);
    assert_int_equal(place_of_cut(MODULE_BASE + 64), 4);
    assert_int_equal(place_of_cut(MODULE_BASE + 64 * 999), 0);
}

/* --- clocks and numbers --- */

static void test_a_clock_that_goes_back_gives_no_time(void **state)
{
    (void)state;
    struct xw_segments *segments = &xw_process->segments;
    struct xw_segment_store *store = &xw_process->segment_store;
    cut();
    store->level = 20; /* the row stays open */
    const uint64_t ahead = UINT64_C(1) << 50;
    segments->begin.tick += ahead;
    segments->begin.p2p_ticks += ahead;
    segments->begin.coll_ticks += ahead;
    segments->begin.io_ticks += ahead;
    segments->world |= 1; /* not at an edge */
    cut();
    for (unsigned field = XW_SEG_DURATION; field <= XW_SEG_CPU_TIME; field++)
        assert_true(store->open.value[field] < ahead);
    assert_int_equal(store->open.value[XW_SEG_DURATION], 0);
    store->level = 0;
}

static void test_site_numbers_stay_below_their_end(void **state)
{
    (void)state;
    struct xw_segments *segments = &xw_process->segments;
    int cuts = 0;
    cut();
    for (int i = 0; i < 100; i++) {
        const uint32_t passages = xw_segment_pass(WAITALL, NULL);
        cuts += passages > 0;
        if (passages)
            xw_segment_cut_at_site(WAITALL, NULL, passages);
        if (i == 50)
            segments->site = (UINT64_C(1) << XW_SITE_BITS) - (UINT64_C(1) << 17) - 10;
    }
    assert_int_equal(cuts, 51 - 31 + 10);
    assert_true(segments->site < UINT64_C(1) << XW_SITE_BITS);
    const uint64_t before = worlds();
    cut();
    assert_int_equal(segments->site, 0);
    assert_int_equal(worlds(), before + 1);
}

static void test_worlds_beyond_the_last_are_lost(void **state)
{
    (void)state;
    const uint64_t *lost = &xw_process->spool.header->lost[XW_LOST_SEGMENTS], before = *lost, world = worlds();
    xw_process->segments.world = XW_MAX_WORLD - 3;
    for (int i = 0; i < 5; i++)
        cut();
    assert_int_equal(*lost - before, 3);
    xw_process->segments.world = world;
}

static void test_a_sealed_process_reads_no_counters(void **state)
{
    (void)state;
    cut();
    const int calls = papi_calls;
    const uint64_t read = xw_process->segments.cpu_read_tick;
    __atomic_store_n(&xw_sealed, 1, __ATOMIC_SEQ_CST);
    usleep(3000);
    cut();
    __atomic_store_n(&xw_sealed, 0, __ATOMIC_SEQ_CST);
    assert_int_equal(papi_calls, calls);
    assert_int_equal(xw_process->segments.cpu_read_tick, read);
    cut();
    assert_true(xw_process->segments.cpu_read_tick > read);
}

/* --- requests --- */

static void test_arrays_that_are_not_there(void **state)
{
    (void)state;
    uint64_t request = 100;
    xw_mpi_pending_add(address(&request), BARRIER, 0);
    assert_int_equal(xw_mpi_pending_find(0, 2, 1), 0);
    xw_mpi_pending_forget(0);
    xw_mpi_pending_start(0, 2);
    assert_int_equal(wait_for(&request, 1), 1);
    assert_int_equal(made_up_for(), 0);
}

/* Open MPI has one handle for all that was complete when it began. */
static void test_a_collective_counts_though_its_handle_is_freed(void **state)
{
    (void)state;
    uint64_t request = 100;
    xw_mpi_pending_add(address(&request), BARRIER, 0);
    xw_mpi_pending_forget(address(&request));
    assert_int_equal(wait_for(&request, 1), 0);
    assert_int_equal(made_up_for(), 1);
}

static void test_what_a_failed_wait_completed_counts(void **state)
{
    (void)state;
    uint64_t requests[] = {100, 101, 102};
    for (int i = 0; i < 3; i++)
        xw_mpi_pending_add(address(&requests[i]), BARRIER, i == 1);
    xw_mpi_pending_start(address(&requests[1]), 1);
    const uint64_t slots = xw_mpi_pending_find(address(requests), 3, 1);
    requests[0] = NULL_REQUEST;
    xw_mpi_pending_failed(slots, address(requests), 3);
    assert_int_equal(made_up_for(), 1);
    assert_int_equal(wait_for(&requests[2], 1), 1);
    xw_mpi_pending_start(address(&requests[1]), 1); /* so it had ended */
    assert_int_equal(wait_for(&requests[1], 1), 1);
    xw_mpi_pending_forget(address(&requests[1]));
    assert_int_equal(xw_mpi_pending() | xw_mpi_persistent(), 0);
    assert_int_equal(made_up_for(), 0);
}

static void test_each_kind_of_request_has_its_room(void **state)
{
    (void)state;
    uint64_t requests[2 * SLOTS_OF_A_KIND + 1];
    const uint64_t *lost = &xw_process->spool.header->lost[XW_LOST_REQUESTS], before = *lost, world = worlds();
    for (uint64_t i = 0; i <= SLOTS_OF_A_KIND; i++) {
        requests[i] = 100 + i;
        xw_mpi_pending_add(address(&requests[i]), BARRIER, 0);
    }
    assert_int_equal(*lost - before, 1);
    for (uint64_t i = SLOTS_OF_A_KIND + 1; i <= 2 * SLOTS_OF_A_KIND; i++) {
        requests[i] = 100 + i;
        xw_mpi_pending_add(address(&requests[i]), BARRIER, 1);
    }
    assert_int_equal(*lost - before, 1);
    xw_mpi_pending_start(address(&requests[SLOTS_OF_A_KIND + 1]), SLOTS_OF_A_KIND);
    assert_int_equal(wait_for(requests, 2 * SLOTS_OF_A_KIND + 1), 2 * SLOTS_OF_A_KIND);
    assert_int_equal(worlds() - world, 2 * SLOTS_OF_A_KIND + 1);
    for (int i = SLOTS_OF_A_KIND + 1; i <= 2 * SLOTS_OF_A_KIND; i++)
        xw_mpi_pending_forget(address(&requests[i]));
    assert_int_equal(xw_mpi_persistent(), 0);
    assert_int_equal(made_up_for(), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/crosswind-unit-XXXXXX");
    if (!mkdtemp(directory) || !feed_begin(directory))
        return -1;
    xw_process->spool.header->tick_hz = 1000000000;
    feed_make_room();
    xw_thread_block_slow();
    xw_segment_start();
    return xw_segment_is_mine() ? 0 : -1;
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
        cmocka_unit_test(test_collectives_of_other_threads_are_made_up_for),
        cmocka_unit_test(test_millions_are_merged),
        cmocka_unit_test(test_a_place_is_named_once),
        cmocka_unit_test(test_the_function_is_part_of_a_place),
        cmocka_unit_test(test_a_place_is_named_when_there_is_a_log),
        cmocka_unit_test(test_what_has_no_name_has_no_number),
        cmocka_unit_test(test_names_are_bounded),
        cmocka_unit_test(test_a_forked_child_counts_nothing),
        cmocka_unit_test(test_nothing_counts_after_the_end),
        cmocka_unit_test(test_a_clock_that_goes_back_gives_no_time),
        cmocka_unit_test(test_site_numbers_stay_below_their_end),
        cmocka_unit_test(test_worlds_beyond_the_last_are_lost),
        cmocka_unit_test(test_a_sealed_process_reads_no_counters),
        cmocka_unit_test(test_arrays_that_are_not_there),
        cmocka_unit_test(test_a_collective_counts_though_its_handle_is_freed),
        cmocka_unit_test(test_what_a_failed_wait_completed_counts),
        cmocka_unit_test(test_each_kind_of_request_has_its_room),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
