/* A slice record: what it holds, read back by the naive decoder of decode.h. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "slice.h"

enum { SLICE_NS = 1000000000, HZ = 2000000000 };

struct bench {
    struct xw_config config;
    struct xw_spool spool;
    struct xw_slicer slicer;
    struct xw_snapshot now;
    uint8_t payload[XW_SLICE_MAX_PAYLOAD];
    char directory[64];
};

static int set_up(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    struct xw_instant start = {.real_ns = 5 * (uint64_t)SLICE_NS + 250000000, .mono_ns = 1, .tick = 1};
    snprintf(b->directory, sizeof b->directory, "/tmp/crosswind-unit-XXXXXX");
    if (!mkdtemp(b->directory))
        return -1;
    xw_config_read(&b->config, NULL);
    snprintf(b->config.spool, sizeof b->config.spool, "%s", b->directory);
    if (!xw_spool_begin(&b->spool, &b->config, &start) || !xw_spool_publish(&b->spool, &b->config))
        return -1;
    b->slicer.begin_real_ns = start.real_ns;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    remove(b->spool.path);
    remove(b->directory);
    free(b);
    return 0;
}

/* The column that a group's field has in this build. */
static unsigned column_of(const char *name)
{
    static const char text[] = XW_METRIC_TABLE_TEXT;
    char key[96];
    snprintf(key, sizeof key, " %s ", name);
    unsigned column = 0;
    for (const char *line = text; !strncmp(line, "column ", 7); line = strchr(line, '\n') + 1, column++) {
        const char *space = strchr(line + 7, ' ');
        if (!strncmp(space, key, strlen(key)))
            return column;
    }
    fail_msg("no column %s", name);
    return 0;
}

static void close_at(struct bench *b, uint64_t real_ns, uint32_t flags)
{
    struct xw_slice_end end = {.real_ns = real_ns,
                               .tick_hz = HZ,
                               .slice_ns = SLICE_NS,
                               .flags = flags,
                               .clock_offset_ns = -5,
                               .clock_max_error_us = 77,
                               .cost_ns = 9000};
    assert_true(xw_slice_close(&b->slicer, &b->now, &end, &b->spool, b->payload));
}

static void test_values_and_boundaries(void **state)
{
    struct bench *b = *state;
    const unsigned calls = column_of("mpi_p2p_calls"), time = column_of("mpi_p2p_time"), rss = column_of("rss");
    struct decoded_slice slice;

    b->now.value[calls] = 10;
    b->now.value[time] = 3 * (uint64_t)HZ; /* ticks: 3 s */
    b->now.value[rss] = 4096;
    close_at(b, 6 * (uint64_t)SLICE_NS + 1000, 0);
    b->now.value[calls] = 15;
    b->now.value[rss] = 2048;
    close_at(b, 7 * (uint64_t)SLICE_NS + 2000, 0);

    const uint8_t *at = b->spool.chunk[1];
    uint32_t size = decode_slice(at, 0, &slice);
    assert_int_equal(slice.index, 5);
    assert_int_equal(slice.flags, XW_SLICE_FIRST);
    assert_int_equal(slice.begin, 250000000);
    assert_int_equal(slice.end, 1000);
    assert_int_equal(slice.offset, -5);
    assert_int_equal(slice.maxerror, 77);
    assert_int_equal(slice.cost, 9000);
    assert_int_equal(slice.value[calls], 10);
    assert_int_equal(slice.value[time], 3000000000u);
    assert_int_equal(slice.value[rss], 4096);

    size += decode_slice(at + size, 5, &slice);
    assert_int_equal(slice.index, 6);
    assert_int_equal(slice.flags, 0);
    assert_int_equal(slice.begin, 1000);
    assert_int_equal(slice.value[calls], 5);
    assert_int_equal(slice.value[time], 0);
    assert_int_equal(slice.value[rss], 2048); /* a gauge is no difference */
    assert_int_equal(decode_slice(at + size, 6, &slice), 0);
}

/* A call that ended between two reads makes a sum fall: never negative, never counted twice. */
static void test_falling_counter(void **state)
{
    struct bench *b = *state;
    const unsigned time = column_of("mpi_p2p_time");
    struct decoded_slice slice;
    const uint8_t *at = b->spool.chunk[1];
    uint64_t sum = 0, previous = 0;
    const uint64_t readings[] = {100, 90, 130, 130, 200};
    for (unsigned i = 0; i < 5; i++) {
        b->now.value[time] = readings[i] * HZ;
        close_at(b, (6 + i) * (uint64_t)SLICE_NS, 0);
        at += decode_slice(at, previous, &slice);
        previous = slice.index;
        sum += slice.value[time];
    }
    assert_int_equal(sum, 200 * (uint64_t)1000000000);
}

static void test_gaps_and_the_last_slice(void **state)
{
    struct bench *b = *state;
    struct decoded_slice slice;
    const uint8_t *at = b->spool.chunk[1];
    close_at(b, 9 * (uint64_t)SLICE_NS + 5, 0); /* slept through three boundaries */
    at += decode_slice(at, 0, &slice);
    assert_int_equal(slice.flags, XW_SLICE_FIRST | XW_SLICE_GAP);
    close_at(b, 9 * (uint64_t)SLICE_NS + 400, XW_SLICE_LAST);
    decode_slice(at, 5, &slice);
    assert_int_equal(slice.index, 9);
    assert_int_equal(slice.flags, XW_SLICE_LAST);
    assert_int_equal(slice.begin, 5);
    assert_int_equal(slice.end, 400 - (int64_t)SLICE_NS);
}

static void test_all_columns_at_their_largest(void **state)
{
    struct bench *b = *state;
    for (unsigned i = 0; i < XW_N_COLUMNS; i++)
        b->now.value[i] = ~0ull;
    assert_true(xw_spool_grow(&b->spool, XW_CHUNK_SLICES, 65536));
    close_at(b, 6 * (uint64_t)SLICE_NS, 0);
    struct decoded_slice slice;
    const uint8_t *at = b->spool.slices.base;
    assert_true(decode_slice(at, 0, &slice) > 0);
    assert_int_equal(slice.value[column_of("mpi_p2p_calls")], ~0ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values_and_boundaries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_falling_counter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gaps_and_the_last_slice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_columns_at_their_largest, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
