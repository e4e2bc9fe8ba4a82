/* The digest's numbers and text, from totals that are known. */
#include "unit.h"

#include <string.h>

#include "digest.h"
#include "digest_numbers.h"

static const char *quantity(double value, const char *unit)
{
    static char text[64];
    struct xw_text out = xw_text_begin(text, sizeof text);
    xw_digest_quantity(&out, value, unit, 0);
    return text;
}

static void test_quantities_have_three_digits_and_a_prefix(void **state)
{
    (void)state;
    assert_string_equal(quantity(0, "B"), "0 B");
    assert_string_equal(quantity(999, ""), "999");
    assert_string_equal(quantity(999.4, "B"), "999 B");
    assert_string_equal(quantity(999.6, "B"), "1.00 kB");
    assert_string_equal(quantity(1234, "B"), "1.23 kB");
    assert_string_equal(quantity(99960, ""), "100 k");
    assert_string_equal(quantity(1.5e7, "B"), "15.0 MB");
    assert_string_equal(quantity(9.994, "%"), "9.99 %");
    assert_string_equal(quantity(9.996, "%"), "10.0 %");
    assert_string_equal(quantity(12345, "%"), "12345 %");
    assert_string_equal(quantity(0.00123, "s"), "1.23 ms");
    assert_string_equal(quantity(4.2e-8, "s"), "42.0 ns");
    assert_string_equal(quantity(4321, "s"), "4321 s");
}

static void test_what_is_no_number_is_no_trap(void **state)
{
    (void)state;
    assert_string_equal(quantity(0.0 / 0.0, "B"), "0 B");
    assert_string_equal(quantity(-5, "B"), "0 B");
    assert_non_null(strstr(quantity(1.0 / 0.0, "B"), "EB"));
}

static void test_names_from_outside_are_made_harmless(void **state)
{
    (void)state;
    char text[64];
    struct xw_text out = xw_text_begin(text, sizeof text);
    xw_digest_clean(&out, "a\033[31mb\n\xc2\x9b"
                          "c\x7f");
    assert_string_equal(text, "a?[31mb???c?");
}

/* 10 s of run time, ticks of 1 ns: 4 s in MPI (1 s of that in MPI-IO), 2 s in POSIX calls on local disk. */
static void make_totals(struct xw_totals *totals)
{
    memset(totals, 0, sizeof *totals);
    totals->wall_ns = 10000000000u;
    totals->cpu_ns = 15000000000u;
    totals->threads_busy_most = 3900;
    totals->omp_num_threads = "4,2";
    totals->group[XW_G_MPI_COLL_ALL_TO_ALL] = (struct xw_quad){100, 800, 1600, 2000000000};
    totals->group[XW_G_MPI_P2P] = (struct xw_quad){50, 3000, 1000, 1000000000};
    totals->group[XW_G_MPI_IO] = (struct xw_quad){2, 64, 32, 1000000000};
    totals->group[XW_G_POSIX(XW_CLASS_DISK, XW_OP_POSIX_WRITE)] = (struct xw_quad){7, 5000, 0, 2000000000};
    totals->group[XW_G_POSIX(XW_CLASS_DISK, XW_OP_POSIX_READ)] = (struct xw_quad){3, 0, 700, 0};
    totals->function[XW_F_MPI_Allreduce] = (struct xw_quad){100, 800, 1600, 2000000000};
    totals->lost[XW_LOST_SLICES] = 4;
}

static void test_measures_of_one_rank(void **state)
{
    (void)state;
    static struct xw_totals totals;
    static double vector[XW_DIGEST_N];
    make_totals(&totals);
    xw_digest_measure(vector, &totals, 1.0, 0.5);
    assert_float_equal(vector[XW_DIGEST_WALL], 10, 1e-9);
    assert_float_equal(vector[XW_DIGEST_NODE], 0.5, 0);
    assert_float_equal(vector[XW_DIGEST_THREADS], 1.5, 1e-9);
    assert_float_equal(vector[XW_DIGEST_BUSIEST], 3.9, 1e-9);
    assert_float_equal(vector[XW_DIGEST_OMP], 8, 0);
    assert_float_equal(vector[XW_DIGEST_MPI_SHARE], 40, 1e-9);
    assert_float_equal(vector[XW_DIGEST_IO_SHARE], 30, 1e-9);
    assert_float_equal(vector[XW_DIGEST_COLL_RATE], 10, 1e-9);
    assert_float_equal(vector[XW_DIGEST_COLL_BYTES], 2400, 0);
    assert_float_equal(vector[XW_DIGEST_P2P_BYTES], 4000, 0);
    assert_float_equal(vector[XW_DIGEST_MPIIO_BYTES], 96, 0);
    assert_float_equal(vector[XW_DIGEST_CLASS(XW_CLASS_DISK, XW_DIGEST_POSIX, XW_DIGEST_IO_CALLS)], 10, 0);
    assert_float_equal(vector[XW_DIGEST_CLASS(XW_CLASS_DISK, XW_DIGEST_POSIX, XW_DIGEST_IO_BYTES)], 5700, 0);
    assert_float_equal(vector[XW_DIGEST_CLASS(XW_CLASS_NET, XW_DIGEST_POSIX, XW_DIGEST_IO_BYTES)], 0, 0);
    assert_float_equal(vector[XW_DIGEST_LOST(XW_LOST_SLICES)], 4, 0);
    assert_float_equal(vector[XW_DIGEST_FUNCTION(XW_F_MPI_Allreduce, 3)], 2, 1e-9);
}

static double threads_asked_for(const char *list)
{
    static struct xw_totals totals;
    static double vector[XW_DIGEST_N];
    make_totals(&totals);
    totals.omp_num_threads = list;
    xw_digest_measure(vector, &totals, 1.0, 0.5);
    return vector[XW_DIGEST_OMP];
}

static void test_what_omp_num_threads_asks_for(void **state)
{
    (void)state;
    assert_float_equal(threads_asked_for("16"), 16, 0);
    assert_float_equal(threads_asked_for("2,3,4"), 24, 0);
    static const char *const nonsense[] = {"", "0", "four", "4,", ",4", "4 2", "-1", "99999999999"};
    for (unsigned i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_float_equal(threads_asked_for(nonsense[i]), 0, 0);
}

static double sum[XW_DIGEST_N];

static const struct xw_digest_report *make_report(void)
{
    static struct xw_totals totals;
    static double minimum[XW_DIGEST_N_SHARED], maximum[XW_DIGEST_N_SHARED];
    static struct xw_digest_report report;
    make_totals(&totals);
    xw_digest_measure(sum, &totals, 1.0, 0.5);
    for (unsigned i = 0; i < XW_DIGEST_N_SHARED; i++) {
        minimum[i] = sum[i] / 2;
        maximum[i] = sum[i];
    }
    for (unsigned i = 0; i < XW_DIGEST_N; i++)
        sum[i] *= 4; /* four ranks, two on a node */
    report = (struct xw_digest_report){.minimum = minimum,
                                       .maximum = maximum,
                                       .sum = sum,
                                       .ranks = 4,
                                       .program = "app",
                                       .job_id = "17",
                                       .mpi = "mpich",
                                       .url = "http://x/%j/y"};
    return &report;
}

static void test_text_of_the_short_form(void **state)
{
    (void)state;
    char text[4096];
    size_t length = xw_digest_format(text, sizeof text, make_report());
    assert_int_equal(length, strlen(text));
    assert_non_null(strstr(text, "crosswind: job 17, app, 4 ranks on 2 nodes (mpich), 10.0 s\n"));
    assert_non_null(strstr(text, "        20 %        40 %        40 %\n"));
    assert_non_null(strstr(text, "POSIX, local disk"));
    assert_null(strstr(text, "MPI_Allreduce"));
    assert_non_null(strstr(text, "no hardware counters here"));
    assert_non_null(strstr(text, "lost: slices 16\n"));
    assert_non_null(strstr(text, "fewer than half of the threads"));
    assert_non_null(strstr(text, "mpiP"));
    assert_non_null(strstr(text, "more: http://x/17/y\n"));
}

static void test_text_of_the_full_form_and_of_rank_0_alone(void **state)
{
    (void)state;
    char text[8192];
    struct xw_digest_report report = *make_report();
    report.full = report.alone = 1;
    xw_digest_format(text, sizeof text, &report);
    assert_non_null(strstr(text, "MPI_Allreduce"));
    assert_non_null(strstr(text, "numbers of rank 0 alone"));
    assert_null(strstr(text, "node")); /* the others' places are not known */
}

static void test_no_page_names_the_command(void **state)
{
    (void)state;
    char text[4096];
    struct xw_digest_report report = *make_report();
    report.url = "";
    xw_digest_format(text, sizeof text, &report);
    assert_non_null(strstr(text, "crosswind show"));
}

/* Nothing is written behind the end, whatever the size. */
static void test_every_size_of_buffer(void **state)
{
    (void)state;
    char text[2048];
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, 'x', sizeof text);
        size_t length = xw_digest_format(text, size, make_report());
        assert_true(length < size);
        assert_int_equal(text[length], 0);
        assert_int_equal(text[size], 'x');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantities_have_three_digits_and_a_prefix),
        cmocka_unit_test(test_what_is_no_number_is_no_trap),
        cmocka_unit_test(test_names_from_outside_are_made_harmless),
        cmocka_unit_test(test_measures_of_one_rank),
        cmocka_unit_test(test_what_omp_num_threads_asks_for),
        cmocka_unit_test(test_text_of_the_short_form),
        cmocka_unit_test(test_text_of_the_full_form_and_of_rank_0_alone),
        cmocka_unit_test(test_no_page_names_the_command),
        cmocka_unit_test(test_every_size_of_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
