/*
 * 100 threads come and go, at most ten at a time, each with its own number of calls; the sums must be exact.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "posix_expect.h"

enum { THREADS = 100, AT_A_TIME = 10, CALLS = 1000 };

static int null_fd;
static FILE *null_stream;

static void *work(void *argument)
{
    intptr_t number = (intptr_t)argument;
    char buf[256] = {0};
    for (int i = 0; i < CALLS + number; i++)
        if (write(null_fd, buf, (size_t)number) != number)
            return "write";
    for (int i = 0; i < CALLS; i++)
        if (fwrite(buf, 3, 1, null_stream) != 1)
            return "fwrite";
    return NULL;
}

int main(void)
{
    pthread_t threads[AT_A_TIME];
    void *failure;
    null_fd = (int)GET(open, open("/dev/null", O_WRONLY));
    null_stream = (FILE *)GET(fopen_creat, fopen("/dev/null", "w"));
    for (int first = 0; first < THREADS; first += AT_A_TIME) {
        for (int i = 0; i < AT_A_TIME; i++)
            MUST(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(first + i)) == 0);
        for (int i = 0; i < AT_A_TIME; i++) {
            MUST(pthread_join(threads[i], &failure) == 0 && !failure);
            for (int call = 0; call < CALLS + first + i; call++)
                CALLED(write, (unsigned long)(first + i), 0);
            for (int call = 0; call < CALLS; call++)
                CALLED(fwrite, 3, 0);
        }
    }
    expect_report();
    return 0;
}
