/* A thread that leaves the shared descriptor table has none of its descriptors, and its process keeps them all. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "descriptors.h"

enum { DESCRIPTORS = 300 };

struct trial {
    int (*leave)(char *, size_t);
    int left, still_open;
    int fds[DESCRIPTORS];
};

static void *leave_and_look(void *argument)
{
    struct trial *trial = argument;
    char scratch[1024];
    trial->left = trial->leave(scratch, sizeof scratch);
    for (int i = 0; i < DESCRIPTORS; i++)
        trial->still_open += fcntl(trial->fds[i], F_GETFD) >= 0;
    return NULL;
}

static void check(int (*leave)(char *, size_t))
{
    struct trial trial = {.leave = leave};
    pthread_t thread;
    for (int i = 0; i < DESCRIPTORS; i++)
        assert_true((trial.fds[i] = open("/dev/null", O_RDONLY)) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, leave_and_look, &trial), 0);
    pthread_join(thread, NULL);
    assert_true(trial.left);
    assert_int_equal(trial.still_open, 0);
    for (int i = 0; i < DESCRIPTORS; i++) {
        assert_true(fcntl(trial.fds[i], F_GETFD) >= 0);
        close(trial.fds[i]);
    }
}

static void test_at_once(void **state)
{
    (void)state;
    check(xw_descriptors_leave);
}

static void test_one_by_one(void **state)
{
    (void)state;
    check(xw_descriptors_leave_one_by_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_at_once), cmocka_unit_test(test_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
