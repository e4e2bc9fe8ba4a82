/* The spool file: begun in memory, published, grown, its logs; what happens where no file can be made. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "spool.h"
#include "spool_header.h"

static char directory[64];

static struct xw_config config_for(const char *spool)
{
    struct xw_config config;
    xw_config_read(&config, NULL);
    snprintf(config.spool, sizeof config.spool, "%s", spool);
    snprintf(config.job_id, sizeof config.job_id, "../job 1/x");
    return config;
}

static struct xw_spool *begin(const struct xw_config *config)
{
    struct xw_spool *spool = calloc(1, sizeof *spool);
    static uint64_t start_ns = 1000; /* part of the file's name */
    struct xw_instant now = {.real_ns = start_ns++, .mono_ns = 10, .tick = 1};
    assert_true(xw_spool_begin(spool, config, &now));
    return spool;
}

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/crosswind-unit-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void test_crc(void **state)
{
    (void)state;
    assert_int_equal(xw_crc32c((const uint8_t *)"123456789", 9), 0xe3069283); /* RFC 3720, B.4 */
    assert_int_equal(xw_crc32c((const uint8_t *)"", 0), 0);
}

static void test_publishing_keeps_the_counts(void **state)
{
    (void)state;
    struct xw_config config = config_for(directory);
    struct xw_spool *spool = begin(&config);
    assert_false(xw_spool_is_published(spool));
    struct xw_thread_block *early = xw_spool_block(spool, 1);
    early->head.state = XW_SLOT_USED;
    early->group[XW_G_MPI_P2P].calls = 7;
    early->function[0].bytes_out = 100;
    assert_true(xw_spool_publish(spool, &config));
    assert_true(xw_spool_is_published(spool));
    struct xw_thread_block *shared = xw_spool_block(spool, 0);
    assert_int_equal(shared->group[XW_G_MPI_P2P].calls, 7);
    assert_int_equal(shared->function[0].bytes_out, 100);
    /* a call that was running in the early block ends later: carried over once, not twice */
    early->group[XW_G_MPI_P2P].calls = 9;
    xw_spool_carry_over(spool);
    xw_spool_carry_over(spool);
    assert_int_equal(shared->group[XW_G_MPI_P2P].calls, 9);
    assert_ptr_equal(xw_spool_early_block(spool, 1), early);
    free(spool);
}

static void test_file_on_disk(void **state)
{
    (void)state;
    struct xw_config config = config_for(directory);
    struct xw_spool *spool = begin(&config);
    assert_true(xw_spool_publish(spool, &config));
    assert_null(strstr(spool->path + strlen(directory) + 1, "/")); /* the job's name opened no folder */
    struct stat st;
    assert_int_equal(stat(spool->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct xw_spool_header header;
    int fd = open(spool->path, O_RDONLY);
    assert_int_equal(read(fd, &header, sizeof header), sizeof header);
    assert_string_equal(header.magic, XW_SPOOL_MAGIC);
    assert_int_equal(header.n_columns, XW_N_COLUMNS);
    assert_int_equal(header.pid, getpid());
    assert_int_equal(header.n_chunks, 3);
    assert_string_equal(header.job_id, "../job 1/x");
    char command[64], line[64] = "";
    snprintf(command, sizeof command, "sed 's/.*) //' /proc/%d/stat | cut -d' ' -f20", getpid());
    FILE *pipe = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    assert_int_equal(header.start_ticks, strtoull(line, NULL, 10));
    char *table = malloc(header.table_size + 1);
    assert_int_equal(pread(fd, table, header.table_size, header.table_offset), header.table_size);
    table[header.table_size] = 0;
    assert_memory_equal(table, "column 0 mpi_p2p_calls count counter group 0 0\n", 47);
    free(table);
    static uint64_t files[XW_N_FILES], stored[XW_N_FILES];
    files[5] = 0x1234500 | XW_FILE_READ;
    xw_spool_store_files(spool, files);
    assert_int_equal(header.chunk[2].kind, XW_CHUNK_FILES);
    assert_int_equal(header.chunk[2].size, sizeof stored);
    assert_int_equal(pread(fd, stored, sizeof stored, (off_t)header.chunk[2].offset), sizeof stored);
    assert_memory_equal(stored, files, sizeof stored);
    close(fd);
    free(spool);
}

static void test_log_goes_on_in_the_next_chunk(void **state)
{
    (void)state;
    struct xw_config config = config_for(directory);
    struct xw_spool *spool = begin(&config);
    assert_true(xw_spool_publish(spool, &config));
    uint8_t payload[100] = {42};
    int records = 0, first;
    while ((first = xw_log_begin(spool, &spool->slices, sizeof payload)) >= 0) {
        assert_int_equal(first, records == 0);
        xw_log_append(&spool->slices, payload, sizeof payload);
        records++;
    }
    assert_int_equal(records, 4096 / 108);
    assert_true(xw_spool_grow(spool, XW_CHUNK_SLICES, 5000));
    assert_int_equal(spool->header->chunk[3].size, 8192);
    assert_int_equal(xw_log_begin(spool, &spool->slices, sizeof payload), 1);
    assert_int_equal(xw_log_room(spool, &spool->slices), 8192);
    free(spool);
}

static void test_threads_chunk_grows(void **state)
{
    (void)state;
    struct xw_config config = config_for(directory);
    struct xw_spool *spool = begin(&config);
    assert_true(xw_spool_publish(spool, &config));
    unsigned before = 0, after = 0;
    while (xw_spool_block(spool, before))
        before++;
    assert_int_equal(spool->free_blocks, before - 1); /* the shared one is nobody's */
    assert_true(xw_spool_grow(spool, XW_CHUNK_THREADS, 8 * sizeof(struct xw_thread_block)));
    while (xw_spool_block(spool, after))
        after++;
    assert_true(after >= before + 8);
    free(spool);
}

static void expect_unpublished(const char *where)
{
    struct xw_config config = config_for(where);
    struct xw_spool *spool = begin(&config);
    assert_false(xw_spool_publish(spool, &config));
    assert_false(xw_spool_is_published(spool));
    assert_int_equal(spool->memory->lost[XW_LOST_SPOOL], 1);
    assert_non_null(xw_spool_block(spool, 1));
    assert_true(
        xw_spool_grow(spool, XW_CHUNK_THREADS, 4 * sizeof(struct xw_thread_block))); /* threads are still counted */
    free(spool);
}

static void test_no_directory(void **state)
{
    (void)state;
    expect_unpublished("/nonexistent/crosswind");
    expect_unpublished("/dev/null");
}

static void test_directory_of_strangers(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/open", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0); /* others may rename our files in it */
    expect_unpublished(path);
    char link[96];
    snprintf(link, sizeof link, "%s/link", directory);
    assert_int_equal(symlink(directory, link), 0);
    expect_unpublished(link);
}

static void test_full_disk(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof path, "%s/small", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    char options[64]; /* room for one file and a half */
    const size_t file = XW_FIRST_THREADS * sizeof(struct xw_thread_block) + xw_table_size + 24576;
    snprintf(options, sizeof options, "size=%zu,mode=0700", file * 3 / 2);
    if (mount("crosswind", path, "tmpfs", 0, options) != 0) {
        print_message("SKIPPED: a full disk: mounting a tmpfs needs root\n");
        skip();
    }
    struct xw_config config = config_for(path);
    struct xw_spool *first = begin(&config), *second = begin(&config);
    assert_true(xw_spool_publish(first, &config));
    assert_false(xw_spool_publish(second, &config)); /* no room: and no SIGBUS later */
    assert_false(xw_spool_grow(first, XW_CHUNK_SLICES, 1 << 20));
    assert_int_equal(first->header->n_chunks, 3);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    free(first);
    free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc),
        cmocka_unit_test(test_publishing_keeps_the_counts),
        cmocka_unit_test(test_file_on_disk),
        cmocka_unit_test(test_log_goes_on_in_the_next_chunk),
        cmocka_unit_test(test_threads_chunk_grows),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_directory_of_strangers),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
