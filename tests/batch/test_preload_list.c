/* LD_PRELOAD: what the user preloads stays, ours comes in front of it once and can be taken out again. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload_list.h"

#define OURS "/opt/cw/libcrosswind.so"

static void test_add(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", OURS},
        {"/lib/a.so", OURS ":/lib/a.so"},
        {"/lib/a.so b.so", OURS ":/lib/a.so b.so"},
        {OURS, OURS},
        {"/lib/a.so:" OURS, "/lib/a.so:" OURS},
        {"/home/me/libcrosswind.so", "/home/me/libcrosswind.so"}, /* of `crosswind run` */
        {"/home/me/libcrosswind.so.1", OURS ":/home/me/libcrosswind.so.1"},
        {"libcrosswind.so", "libcrosswind.so"},
    };
    char result[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(cw_preload_add(result, sizeof result, cases[i][0], OURS));
        assert_string_equal(result, cases[i][1]);
    }
    assert_false(cw_preload_add(result, sizeof OURS + 3, "/a.so", OURS));
    assert_true(cw_preload_add(result, sizeof OURS, "", OURS));
}

static void test_remove(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {OURS, ""},
        {"/lib/a.so", "/lib/a.so"},
        {OURS ":/lib/a.so", "/lib/a.so"},
        {"/lib/a.so " OURS " b.so", "/lib/a.so:b.so"},
        {":: " OURS ":", ""},
        {"/home/me/libcrosswind.so:c.so", "c.so"},
    };
    char result[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(cw_preload_remove(result, sizeof result, cases[i][0], OURS));
        assert_string_equal(result, cases[i][1]);
    }
    assert_false(cw_preload_remove(result, 6, "/a.so:/b.so", OURS));
    assert_false(cw_preload_remove(result, 5, "/a.so", OURS));
}

static void write_file(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (int)strlen(content));
    close(fd);
}

static void test_is_there(void **state)
{
    (void)state;
    char folder[] = "/tmp/cw-preload-XXXXXX", path[128], token[128];
    assert_non_null(mkdtemp(folder));
    assert_true(cw_preload_is_there("/proc/self/exe"));
    assert_false(cw_preload_is_there(folder));
    snprintf(path, sizeof path, "%s/lib64", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/lib64/x.so", folder);
    snprintf(token, sizeof token, "%s/$LIB/x.so", folder);
    assert_false(cw_preload_is_there(path));
    assert_false(cw_preload_is_there(token));
    write_file(path, "\177EL");
    assert_false(cw_preload_is_there(path));
    write_file(path, "\177ELF...");
    assert_true(cw_preload_is_there(path));
    assert_true(cw_preload_is_there(token));
    unlink(path);
    assert_int_equal(mkfifo(path, 0644), 0); /* nobody may wait for a writer */
    assert_false(cw_preload_is_there(path));
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
