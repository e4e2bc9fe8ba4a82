/*
 * The table of files: what is noted is there once, with all its bits; a full neighbourhood refuses; threads that note
 * the same files leave one entry each.
 */
#include "unit.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "file_table.h"

static uint64_t table[XW_N_FILES];

static uint64_t file_number(uint64_t n) { return xw_file_identity(&n, 1); }

static unsigned entries(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < XW_N_FILES; i++)
        n += table[i] != 0;
    return n;
}

static int holds(uint64_t file)
{
    for (unsigned i = 0; i < XW_N_FILES; i++)
        if (table[i] == file)
            return 1;
    return 0;
}

static void once_with_all_bits(void **state)
{
    (void)state;
    memset(table, 0, sizeof table);
    const uint64_t file = file_number(7) | XW_FILE_LOCAL | XW_FILE_CLASS;
    assert_int_equal(xw_files_note(table, file | XW_FILE_READ), 1);
    assert_int_equal(xw_files_note(table, file | XW_FILE_WRITTEN | XW_FILE_APPENDS), 1);
    assert_int_equal(xw_files_note(table, file | XW_FILE_READ), 1);
    assert_int_equal(entries(), 1);
    assert_true(holds(file | XW_FILE_READ | XW_FILE_WRITTEN));
    for (uint64_t n = 100; n < 500; n++)
        assert_int_equal(xw_files_note(table, file_number(n) | XW_FILE_READ), 1);
    assert_int_equal(entries(), 401);
    for (uint64_t n = 100; n < 500; n++)
        assert_true(holds(file_number(n) | XW_FILE_READ));
}

static void full(void **state)
{
    (void)state;
    memset(table, 0, sizeof table);
    unsigned noted = 0;
    for (uint64_t n = 1; n <= 4 * XW_N_FILES; n++)
        noted += (unsigned)xw_files_note(table, file_number(n) | XW_FILE_READ);
    assert_int_equal(entries(), noted);
    assert_true(noted > XW_N_FILES * 9 / 10);
}

static void copied(void **state)
{
    (void)state;
    static uint64_t copy[XW_N_FILES];
    xw_files_copy(copy, table);
    assert_memory_equal(copy, table, sizeof copy);
    table[3] |= XW_FILE_WRITTEN;
    xw_files_copy(copy, table);
    assert_memory_equal(copy, table, sizeof copy);
}

static void *note_all(void *bit)
{
    for (uint64_t n = 1; n <= 300; n++)
        xw_files_note(table, file_number(n) | (uint64_t)(uintptr_t)bit);
    return NULL;
}

static void by_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    memset(table, 0, sizeof table);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_all, (void *)(1 + i % 2)), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(entries(), 300);
    for (uint64_t n = 1; n <= 300; n++)
        assert_true(holds(file_number(n) | XW_FILE_READ | XW_FILE_WRITTEN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_with_all_bits),
        cmocka_unit_test(full),
        cmocka_unit_test(copied),
        cmocka_unit_test(by_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
