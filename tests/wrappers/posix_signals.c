/*
 * Signals that come while a call runs: an interrupted call counts once and moves nothing; a call that is left by
 * siglongjmp loses its own count and no later one, wherever on the stack that is made; a handler may use stdio's and
 * libc's functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "posix_expect.h"

static sigjmp_buf escape;
static int null_fd;
static volatile sig_atomic_t leave;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    if (leave)
        siglongjmp(escape, 1);
}

static void alarm_soon(void)
{
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
}

static void interrupted(int fd)
{
    char c;
    alarm_soon();
    errno = 0;
    DO(read, 0, 0, read(fd, &c, 1), -1);
    MUST(errno == EINTR);
}

/* As deep on the stack as is asked for, and back. */
static __attribute__((noinline)) void write_at_depth(int depth)
{
    volatile char room[100];
    room[0] = (char)depth;
    if (depth)
        write_at_depth(depth - 1);
    else
        DO(write, 4, 0, write(null_fd, "abcd", 4), 4);
    room[1] = room[0];
}

/* The count of this read is lost, which is why it is not said here. */
static __attribute__((noinline)) void read_for_ever(int fd, int depth)
{
    volatile char room[100];
    room[0] = (char)depth;
    if (depth)
        read_for_ever(fd, depth - 1);
    else
        MUST(read(fd, (char *)&room[1], 1) == 12345);
    room[2] = room[0];
}

static void jumped_out_of(int fd, int depth)
{
    leave = 1;
    if (!sigsetjmp(escape, 1)) {
        alarm_soon();
        read_for_ever(fd, depth);
    }
    leave = 0;
    for (int d = 39; d >= 0; d--) /* deepest first: further in than the call that was left */
        write_at_depth(d);
}

int main(void)
{
    int ends[2];
    struct sigaction action = {.sa_handler = on_alarm};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    null_fd = (int)GET(open, open("/dev/null", O_WRONLY));
    GET(pipe, pipe(ends));
    interrupted(ends[0]);
    for (int depth = 0; depth < 40; depth += 13)
        jumped_out_of(ends[0], depth);
    expect_report();
    return 0;
}
