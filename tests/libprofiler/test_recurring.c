/* Which call sites cut: made-up programs as sequences of passages and world-sized collectives. */
#include "recurring.h"

#include "unit.h"

enum { A = 101, B = 202, C = 303, S = 1000000000 };

/* Pass a site n times; returns how many segments ended there. */
static unsigned pass(struct xw_recurring *recurring, uint64_t key, unsigned n)
{
    unsigned ended = 0;
    while (n--)
        ended += xw_recurring_pass(recurring, key) != 0;
    return ended;
}

static void test_a_site_that_recurs_becomes_an_anchor(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    assert_int_equal(pass(&r, A, XW_RECURRING_FIRST - 1), 0);
    assert_int_equal(pass(&r, A, 100), 100);
}

static void test_a_loop_has_one_anchor_the_first(void **state)
{
    struct xw_recurring r = {0};
    unsigned at_a = 0, at_others = 0;
    (void)state;
    for (unsigned step = 0; step < 1000; step++) {
        at_a += pass(&r, A, 1);
        at_others += pass(&r, B, 1) + pass(&r, C, 3); /* C recurs more often */
    }
    assert_int_equal(at_a, 0);
    assert_int_equal(at_others, 3 * (1000 - 11) + 2);
    assert_int_equal(r.n_anchors, 1);
}

static void test_each_phase_has_an_anchor_of_its_own_and_keeps_it(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    assert_int_equal(pass(&r, A, 200), 200 - XW_RECURRING_FIRST + 1);
    assert_int_equal(pass(&r, B, 200), 200 - XW_RECURRING_NEXT + 1);
    assert_int_equal(pass(&r, A, 200), 200);
    assert_int_equal(pass(&r, B, 200), 200);
}

static void test_collectives_in_each_step_leave_nothing_to_do(void **state)
{
    struct xw_recurring r = {0};
    unsigned interval = 0;
    (void)state;
    for (int watches = 1; watches; interval++) {
        assert_int_equal(pass(&r, A, 6), 0);
        watches = xw_recurring_world_cut(&r);
    }
    assert_int_equal(interval, XW_RECURRING_OFF);
}

/* A hundred steps between collectives: their cuts are enough, once it is known that they come. */
static void test_sites_stop_cutting_where_collectives_cut_often(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    assert_int_equal(pass(&r, A, 100), 100 - XW_RECURRING_FIRST + 1);
    for (unsigned interval = 1; interval < XW_RECURRING_OFTEN; interval++) {
        assert_true(xw_recurring_world_cut(&r));
        assert_int_equal(pass(&r, A, 100), 100);
    }
    for (unsigned interval = 0; interval < 100; interval++) {
        assert_true(xw_recurring_world_cut(&r));
        assert_int_equal(pass(&r, A, 100), 0);
    }
    /* They cease: four times as long without one is enough to know. */
    xw_recurring_world_cut(&r);
    assert_int_equal(pass(&r, A, 1000), 1000 - 400 + 1);
}

/* Many collectives while the program sets up, none in its main loop. */
static void test_setting_up_with_collectives_does_not_hide_the_main_loop(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        pass(&r, B, 3);
        xw_recurring_world_cut(&r);
    }
    assert_int_equal(pass(&r, A, 100), 100 - XW_RECURRING_FIRST + 1);
}

static void test_collectives_without_other_calls_say_nothing(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    for (unsigned i = 0; i < 2 * XW_RECURRING_OFF; i++)
        assert_true(xw_recurring_world_cut(&r));
    assert_int_equal(r.short_ones, 0);
}

/* Cuts that come too fast are thinned out by powers of two, at the same passages in every rank. */
static void test_a_pace_that_is_too_fast_is_halved(void **state)
{
    struct xw_recurring fast = {0}, slow = {0};
    uint64_t now_ns = S, fast_cuts = 0, passages = 0;
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t n = xw_recurring_pass(&fast, A), m = xw_recurring_pass(&slow, A);
        now_ns += 1000;
        if (m)
            xw_recurring_cut(&slow, i * (uint64_t)S);
        if (!n)
            continue;
        assert_int_equal(n & (n - 1), 0);
        passages += n;
        assert_int_equal(passages % n, 0);
        fast_cuts++;
        xw_recurring_cut(&fast, now_ns);
        assert_int_equal(fast.closed, slow.closed);
    }
    assert_int_equal(slow.log_stride, 0);
    assert_in_range(fast_cuts, 1000, 7000);
    assert_in_range(fast.log_stride, 2, 6);
}

static void test_more_sites_than_the_table_holds(void **state)
{
    struct xw_recurring r = {0};
    (void)state;
    for (unsigned round = 0; round < 10; round++)
        for (uint64_t key = 0; key < 10000; key++)
            xw_recurring_pass(&r, key * 0x9e3779b97f4a7c15u);
    xw_recurring_world_cut(&r);
    assert_int_equal(pass(&r, A, 100), 100 - XW_RECURRING_FIRST + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_site_that_recurs_becomes_an_anchor),
        cmocka_unit_test(test_a_loop_has_one_anchor_the_first),
        cmocka_unit_test(test_each_phase_has_an_anchor_of_its_own_and_keeps_it),
        cmocka_unit_test(test_collectives_in_each_step_leave_nothing_to_do),
        cmocka_unit_test(test_sites_stop_cutting_where_collectives_cut_often),
        cmocka_unit_test(test_setting_up_with_collectives_does_not_hide_the_main_loop),
        cmocka_unit_test(test_collectives_without_other_calls_say_nothing),
        cmocka_unit_test(test_a_pace_that_is_too_fast_is_halved),
        cmocka_unit_test(test_more_sites_than_the_table_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
