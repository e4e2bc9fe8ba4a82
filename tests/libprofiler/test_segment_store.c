/* Segments on their way into the file: read back by the naive reader of decode_segments.h, and bounded. */
#include "unit.h"

#include <math.h>
#include <unistd.h>

#include "decode_segments.h"
#include "segment_feed.h"

enum { MANY = 400000, LEVEL_BYTES = 512 << 10 };

static char directory[64];
static struct feed feed;

/* --- numbers --- */

static void test_numbers_err_by_half_a_step_at_most(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (unsigned precision = 1; precision <= 20; precision++)
        for (int i = 0; i < 20000; i++) {
            const uint64_t value = feed_random(&random) >> feed_random(&random) % 60 >> 4;
            const uint64_t found = decoded_value(xw_value_to_number(value, precision), precision);
            const uint64_t off = found > value ? found - value : value - found;
            assert_true((double)off <= ldexp((double)value, -(int)precision - 1));
            assert_int_equal(xw_number_to_value(xw_value_to_number(value, precision), precision), found);
            assert_true(xw_value_to_number(value + 1, precision) >= xw_value_to_number(value, precision));
            if (value < UINT64_C(2) << precision)
                assert_int_equal(found, value);
        }
    assert_int_equal(xw_value_to_number(~UINT64_C(0), XW_EXACT), ~UINT64_C(0));
    assert_int_equal(xw_number_to_value(~UINT64_C(0), XW_EXACT), ~UINT64_C(0));
}

/* --- blocks --- */

/* How far a value may be off: what docs/format.md says. */
static double allowed(unsigned field)
{
    switch (field) {
    case XW_SEG_DURATION:
    case XW_SEG_P2P_TIME:
    case XW_SEG_COLL_TIME:
    case XW_SEG_IO_TIME:
        return 1 / 256.0;
    case XW_SEG_CPU_TIME:
    case XW_SEG_INSTRUCTIONS:
    case XW_SEG_FLOPS:
        return 1 / 4096.0;
    default:
        return 0;
    }
}

/* CPU time is cut off and rounded in ticks. */
static void assert_close(uint64_t found, uint64_t exact, unsigned field, uint64_t hz)
{
    const double tick = field == XW_SEG_CPU_TIME && hz ? 1e9 / (double)hz : 1;
    const double most = ldexp(tick, 59), expected = (double)exact < most ? (double)exact : most;
    const double rounded = field == XW_SEG_CPU_TIME ? 2 * tick + 1 : exact >= 1ull << 59 ? 1 : 0;
    assert_true(fabs((double)found - expected) <= allowed(field) * expected + rounded);
}

static struct xw_segment_slot slot_of(const struct xw_segment_row *row)
{
    struct xw_segment_slot slot = {.head = {.position = row->world << 31 | row->site,
                                            .worlds = !row->ended_by_site,
                                            .sites = row->ended_by_site,
                                            .start_tick = row->start_tick,
                                            .call = row->call,
                                            .signature = row->signature}};
    memcpy(slot.value, row->value, sizeof slot.value);
    return slot;
}

/* One block of n rows of the program, read back. */
static void check_block(struct feed *program, uint32_t n, uint64_t hz)
{
    static struct xw_segment_slot slot[XW_BLOCK_ROWS];
    static struct xw_segment_block block;
    static struct decoded_row found[1024];
    for (uint32_t i = 0; i < n; i++)
        slot[i] = slot_of(feed_next(program));
    const uint32_t length = xw_segment_block_make(&block, slot, n, hz);
    assert_true(length <= XW_BLOCK_MAX_PAYLOAD);
    assert_int_equal(decode_block(block.payload, length, found), n);
    for (uint32_t i = 0; i < n; i++) {
        const struct decoded_row exact = row_of_slot(&slot[i]);
        assert_int_equal(found[i].begin, exact.begin);
        assert_int_equal(found[i].end, exact.end);
        assert_int_equal(found[i].call, exact.call);
        assert_int_equal(found[i].signature, exact.signature);
        for (unsigned f = 0; f < XW_N_SEG_FIELDS; f++)
            assert_close(found[i].value[f], exact.value[f], f, hz);
        const int64_t off = (int64_t)(found[i].start_tick - exact.start_tick);
        assert_true(llabs(off) <= (int64_t)((hz ? hz : 1000000000) / 1000));
    }
}

static void test_blocks_hold_what_they_were_given(void **state)
{
    (void)state;
    const uint32_t sizes[] = {1, 2, 3, 17, XW_BLOCK_ROWS};
    const uint64_t rates[] = {0, 1000000000, 2649737000};
    for (unsigned program = 0; program < FEED_PROGRAMS; program++)
        for (unsigned i = 0; i < 60; i++) {
            struct feed fed = {.program = program, .random = i, .tick = 1000000};
            check_block(&fed, sizes[i % 5], rates[i % 3]);
            check_block(&fed, XW_BLOCK_ROWS, rates[i % 3]);
        }
}

/* All values at their largest, and steps that no packing shortens. */
static void test_the_largest_block_has_room(void **state)
{
    (void)state;
    static struct xw_segment_slot slot[XW_BLOCK_ROWS];
    static struct xw_segment_block block;
    static struct decoded_row found[1024];
    for (uint32_t i = 0; i < XW_BLOCK_ROWS; i++) {
        slot[i].head = (struct xw_segment_slot_head){.position = 1,
                                                     .worlds = ~0u - i,
                                                     .sites = 0x7fffffff,
                                                     .start_tick = i % 2 ? ~UINT64_C(0) / 8 : 0,
                                                     .call = ~i,
                                                     .signature = ~i};
        for (unsigned f = 0; f < XW_N_SEG_FIELDS; f++)
            slot[i].value[f] = i % 2 ? ~UINT64_C(0) : 0;
    }
    const uint32_t length = xw_segment_block_make(&block, slot, XW_BLOCK_ROWS, ~UINT64_C(0));
    assert_true(length > 15000);
    assert_true(length <= XW_BLOCK_MAX_PAYLOAD);
    assert_int_equal(decode_block(block.payload, length, found), XW_BLOCK_ROWS);
    assert_int_equal(found[1].value[XW_SEG_IO_BYTES], (UINT64_C(1) << 59) - 1);
}

/* --- the store --- */

struct content {
    uint64_t segments, bytes, rows, largest, duration, end;
};

static void take_row(struct content *content, const struct decoded_row *row)
{
    assert_int_equal(row->begin, content->end); /* nothing is missing, nothing there twice */
    content->end = row->end;
    content->rows++;
    const uint64_t span = (row->end >> 31) - (row->begin >> 31);
    content->largest = span > content->largest ? span : content->largest;
    content->segments += row->value[XW_SEG_COLL_CALLS]; /* the programs have one each */
    content->duration += row->value[XW_SEG_DURATION];
}

static void take_blocks(struct content *content)
{
    static struct decoded_row rows[1024];
    const struct xw_spool *spool = &xw_process->spool;
    for (uint32_t c = 0; c < spool->header->n_chunks; c++) {
        if (spool->header->chunk[c].kind != XW_CHUNK_BLOCKS)
            continue;
        const uint8_t *chunk = spool->chunk[c];
        uint32_t at = 0, length;
        while (at + 8 <= spool->header->chunk[c].size && (memcpy(&length, chunk + at, 4), length)) {
            const uint32_t n = decode_block(chunk + at + 8, length, rows);
            for (uint32_t i = 0; i < n; i++)
                take_row(content, &rows[i]);
            at += 8 + (length + 3) / 4 * 4;
            content->bytes += 8 + (length + 3) / 4 * 4;
        }
    }
}

/* The good slot at the position that reaches furthest; NULL: none. */
static const struct xw_segment_slot *longest_at(const struct xw_segment_slot *slots, uint64_t position)
{
    const struct xw_segment_slot *best = NULL;
    uint64_t end = 0;
    for (unsigned i = 0; i < XW_ROW_SLOTS; i++)
        if (slots[i].head.position == position && is_good_slot(&slots[i]) && row_of_slot(&slots[i]).end > end) {
            best = &slots[i];
            end = row_of_slot(best).end;
        }
    return best;
}

/* Everything in the file, as one who finds it after a kill. */
static struct content content_of_file(void)
{
    struct content content = {0};
    const struct xw_segment_slot *slots = xw_spool_area(&xw_process->spool, XW_CHUNK_ROWS), *slot;
    take_blocks(&content);
    while ((slot = longest_at(slots, content.end))) {
        const struct decoded_row row = row_of_slot(slot);
        take_row(&content, &row);
    }
    return content;
}

static void add_next(void) { xw_segment_store_add(xw_process, feed_next(&feed)); }

static void begin_program(enum feed_program program)
{
    memset(&xw_process->segment_store, 0, sizeof xw_process->segment_store);
    feed = (struct feed){.program = program, .random = program + 1, .tick = 1000};
    feed_make_room();
}

/* Whenever the process is killed: the program's own count is the truth. */
static void test_every_finished_segment_is_in_the_file(void **state)
{
    (void)state;
    begin_program(FEED_RARE);
    for (int i = 0; i < MANY; i++) {
        add_next();
        feed_make_room();
        if (i < 1000 || feed_random(&feed.random) % 10000 == 0)
            assert_int_equal(content_of_file().segments, i + 1);
    }
    assert_true(xw_process->segment_store.level >= 1);
    xw_segment_store_finish(xw_process);
    assert_int_equal(content_of_file().segments, MANY);
}

/* A row half written, over one that was there. */
static void test_a_torn_row_is_none(void **state)
{
    (void)state;
    begin_program(FEED_SAME);
    for (int i = 0; i < 10; i++)
        add_next();
    struct xw_segment_slot *slots = xw_spool_area(&xw_process->spool, XW_CHUNK_ROWS);
    assert_int_equal(content_of_file().segments, 10);
    uint64_t *word = &slots[9].head.check;
    for (unsigned i = 1; i < sizeof *slots / 8; i++) {
        word[i]++;
        assert_false(is_good_slot(&slots[9]));
        word[i]--;
    }
    assert_true(is_good_slot(&slots[9]));
}

static void run_bounded(enum feed_program program)
{
    begin_program(program);
    uint64_t duration = 0;
    for (int i = 0; i < 5 * MANY; i++) {
        add_next();
        duration += feed.row.value[XW_SEG_DURATION];
        if (i % 200 == 0)
            feed_make_room();
    }
    const struct content content = content_of_file();
    const struct xw_segment_store *store = &xw_process->segment_store;
    assert_int_equal(content.segments, 5 * MANY);
    assert_true(fabs((double)content.duration - (double)duration) < 0.004 * (double)duration);
    assert_true(content.bytes <= (store->level + 1) * (LEVEL_BYTES + 65536));
    assert_int_equal(xw_process->spool.header->lost[XW_LOST_SEGMENTS], 0);
    assert_true(store->level >= 3);
    assert_true(content.rows < 5 * MANY);
    print_message("program %d: %.2f MB, %llu rows, level %u\n", (int)program, (double)content.bytes * 1e-6,
                  (unsigned long long)content.rows, store->level);
}

static void test_the_same_again_and_again(void **state) { (void)state, run_bounded(FEED_SAME); }
static void test_two_that_alternate(void **state) { (void)state, run_bounded(FEED_ALTERNATING); }
static void test_no_two_alike(void **state) { (void)state, run_bounded(FEED_DISTINCT); }
static void test_call_sites_between_collectives(void **state) { (void)state, run_bounded(FEED_SITES); }
static void test_collectives_and_call_sites_that_alternate(void **state) { (void)state, run_bounded(FEED_MIXED); }

static void test_what_finds_no_room_is_counted(void **state)
{
    (void)state;
    begin_program(FEED_SAME);
    struct xw_spool *spool = &xw_process->spool;
    while (xw_log_begin(spool, &spool->blocks, 1) >= 0)
        spool->blocks.used = spool->blocks.size; /* as if it were full */
    for (int i = 0; i < 1000; i++)
        add_next();
    assert_int_equal(spool->header->lost[XW_LOST_SEGMENTS], 1000 - XW_BLOCK_ROWS);
    assert_int_equal(content_of_file().segments, XW_BLOCK_ROWS); /* those that were there stay */
    feed_make_room();
    for (int i = 0; i < 1000; i++)
        add_next();
    assert_int_equal(spool->header->lost[XW_LOST_SEGMENTS], 1000 - XW_BLOCK_ROWS);
}

static uint32_t n_block_chunks(void)
{
    const struct xw_spool_header *header = xw_process->spool.header;
    uint32_t n = 0;
    for (uint32_t c = 0; c < header->n_chunks; c++)
        n += header->chunk[c].kind == XW_CHUNK_BLOCKS;
    return n;
}

/* A block that found no room may not come back for long. */
static void test_room_is_made_once(void **state)
{
    (void)state;
    begin_program(FEED_SAME);
    struct xw_spool *spool = &xw_process->spool;
    while (xw_log_begin(spool, &spool->blocks, 1) >= 0)
        spool->blocks.used = spool->blocks.size;
    for (int i = 0; i < 1000; i++)
        add_next();
    const uint32_t before = n_block_chunks();
    for (int i = 0; i < 10; i++)
        feed_make_room();
    assert_int_equal(n_block_chunks(), before + 1);
}

/* However many blocks there are, slices and threads find entries in the chunk table. */
static void test_blocks_leave_chunks_for_others(void **state)
{
    (void)state;
    begin_program(FEED_SAME);
    struct xw_spool *spool = &xw_process->spool;
    const uint32_t n = spool->header->n_chunks;
    while (spool->header->n_chunks < XW_MAX_CHUNKS - 9)
        spool->header->chunk[spool->header->n_chunks++].kind = 0; /* as if they were there */
    for (int i = 0; i < 10; i++) {
        while (xw_log_begin(spool, &spool->blocks, 1) >= 0)
            spool->blocks.used = spool->blocks.size;
        feed_make_room();
    }
    assert_int_equal(spool->header->n_chunks, XW_MAX_CHUNKS - 8);
    assert_true(xw_spool_grow(spool, XW_CHUNK_SLICES, 4096));
    spool->header->n_chunks = n;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/crosswind-unit-XXXXXX");
    return mkdtemp(directory) && feed_begin(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    remove(xw_process->spool.path);
    return remove(directory);
}

/* The file of the test before is forgotten. */
static int start_over(void **state)
{
    (void)state;
    struct xw_spool *spool = &xw_process->spool;
    uint32_t kept = 0;
    for (uint32_t c = 0; c < spool->header->n_chunks; c++) {
        const uint32_t kind = spool->header->chunk[c].kind;
        if (kind == XW_CHUNK_BLOCKS || kind == XW_CHUNK_ROWS)
            continue;
        spool->chunk[kept] = spool->chunk[c];
        spool->header->chunk[kept++] = spool->header->chunk[c];
    }
    spool->header->n_chunks = kept;
    spool->blocks = (struct xw_log){.kind = XW_CHUNK_BLOCKS};
    spool->header->lost[XW_LOST_SEGMENTS] = 0;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_err_by_half_a_step_at_most),
        cmocka_unit_test(test_blocks_hold_what_they_were_given),
        cmocka_unit_test(test_the_largest_block_has_room),
        cmocka_unit_test_setup(test_every_finished_segment_is_in_the_file, start_over),
        cmocka_unit_test_setup(test_a_torn_row_is_none, start_over),
        cmocka_unit_test_setup(test_the_same_again_and_again, start_over),
        cmocka_unit_test_setup(test_two_that_alternate, start_over),
        cmocka_unit_test_setup(test_no_two_alike, start_over),
        cmocka_unit_test_setup(test_call_sites_between_collectives, start_over),
        cmocka_unit_test_setup(test_collectives_and_call_sites_that_alternate, start_over),
        cmocka_unit_test_setup(test_what_finds_no_room_is_counted, start_over),
        cmocka_unit_test_setup(test_room_is_made_once, start_over),
        cmocka_unit_test_setup(test_blocks_leave_chunks_for_others, start_over),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
