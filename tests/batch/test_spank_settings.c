/* What plugstack.conf and --crosswind=... may say, and who wins. */
#include "unit.h"

#include <string.h>

#include "settings.h"

static void test_words_of_a_site(void **state)
{
    (void)state;
    static const char *const good[] = {"lib=/opt/$LIB/libcrosswind.so",
                                       "spool=/dev/shm/crosswind",
                                       "default=off",
                                       "slice=4s",
                                       "digest=short",
                                       "timing=on",
                                       "url=https://cw/job/%j",
                                       "skip=java*",
                                       "containers=on"};
    static const char *const bad[] = {"",
                                      "on",
                                      "lib=",
                                      "lib=relative.so",
                                      "lib=/with blank.so",
                                      "lib=/a:b",
                                      "nothing=1",
                                      "default=maybe",
                                      "slice=4 s",
                                      "slice=-1",
                                      "url=\x01",
                                      "averyveryverylongname=1",
                                      "=",
                                      "slice"};
    struct cw_settings site = {0}, none = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!cw_settings_take(&site, good[i], CW_SITE))
            fail_msg("refused: %s", good[i]);
    assert_string_equal(cw_settings_value(&site, "lib"), "/opt/$LIB/libcrosswind.so");
    assert_string_equal(cw_settings_value(&site, "slice"), "4s");
    assert_int_equal(site.on, CW_OFF);
    assert_int_equal(site.containers, CW_ON);
    struct cw_settings untouched = {0};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (cw_settings_take(&untouched, bad[i], CW_SITE))
            fail_msg("taken: '%s'", bad[i]);
    assert_memory_equal(&untouched, &none, sizeof none);
}

static void test_words_of_a_user(void **state)
{
    (void)state;
    char bad[8];
    struct cw_settings user = {0};
    assert_int_equal(cw_settings_take_list(&user, "slice=500ms,digest=full", bad, sizeof bad), 0);
    assert_string_equal(cw_settings_value(&user, "slice"), "500ms");
    assert_string_equal(cw_settings_value(&user, "digest"), "full");
    assert_int_equal(user.on, CW_ON);

    struct cw_settings off = {0};
    assert_int_equal(cw_settings_take_list(&off, "off,slice=1s", bad, sizeof bad), 0);
    assert_int_equal(off.on, CW_OFF);

    struct cw_settings wrong = {0}, none = {0};
    assert_int_equal(cw_settings_take_list(&wrong, "lib=/tmp/evil.so,spool=/tmp,default=on,of", bad, sizeof bad), 4);
    assert_string_equal(bad, "lib=/tm");
    assert_memory_equal(&wrong, &none, sizeof none);

    char longest[CW_VALUE_SIZE + 1];
    memset(longest, 'x', CW_VALUE_SIZE);
    longest[CW_VALUE_SIZE] = 0;
    assert_int_equal(cw_settings_take_list(&wrong, longest, bad, sizeof bad), 1);
    assert_int_equal(cw_settings_take_list(&wrong, ",,", bad, sizeof bad), 0);
    assert_memory_equal(&wrong, &none, sizeof none);
}

static void test_what_a_step_says_is_completed_by_its_job(void **state)
{
    (void)state;
    char bad[8];
    struct cw_settings step = {0}, job = {0};
    cw_settings_take_list(&step, "digest=full", bad, sizeof bad);
    cw_settings_take_list(&job, "off,slice=2s,digest=off", bad, sizeof bad);
    cw_settings_fill(&step, &job);
    assert_int_equal(step.on, CW_ON);
    assert_string_equal(cw_settings_value(&step, "digest"), "full");
    assert_string_equal(cw_settings_value(&step, "slice"), "2s");
}

static void test_who_wins(void **state)
{
    (void)state;
    const struct cw_settings nothing = {0}, on = {.on = CW_ON}, off = {.on = CW_OFF};
    assert_int_equal(cw_settings_decide(&nothing, &nothing, ""), CW_ON);
    assert_int_equal(cw_settings_decide(&off, &nothing, ""), CW_NOT_SAID);
    assert_int_equal(cw_settings_decide(&off, &nothing, "0"), CW_ON); /* an earlier --crosswind=on of the same job */
    assert_int_equal(cw_settings_decide(&on, &nothing, "1"), CW_OFF);
    assert_int_equal(cw_settings_decide(&on, &off, "0"), CW_OFF);
    assert_int_equal(cw_settings_decide(&off, &on, "1"), CW_ON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_of_a_site),
        cmocka_unit_test(test_words_of_a_user),
        cmocka_unit_test(test_what_a_step_says_is_completed_by_its_job),
        cmocka_unit_test(test_who_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
