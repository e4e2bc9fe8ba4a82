/*
 * waiting full    every call that waits waits its whole time and is not interrupted
 * waiting eintr   counts how often calls are interrupted: as often as signals are sent
 * waiting catch   survives its own SIGSEGVs, leaving reads and the handler by siglongjmp
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 100 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct timespec after(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += WAIT_MS * 1000000L;
    if (t.tv_nsec >= 1000000000L)
        t.tv_sec++, t.tv_nsec -= 1000000000L;
    return t;
}

/* Runs `call`, which must take its time and fail with `wanted` (0: succeed). */
#define WHOLE(call, wanted)                                                                                            \
    do {                                                                                                               \
        double begin = now();                                                                                          \
        errno = 0;                                                                                                     \
        (void)!(call);                                                                                                 \
        double took = now() - begin;                                                                                   \
        printf("%s: %s, %s\n", #call, took >= WAIT_MS - 0.1 ? "whole" : "SHORT",                                       \
               errno == (wanted) ? "as wanted" : strerror(errno));                                                     \
    } while (0)

static int wait_whole_times(void)
{
    struct timespec length = {0, WAIT_MS * 1000000L}, deadline = after(CLOCK_REALTIME);
    struct timeval timeout = {0, WAIT_MS * 1000L};
    struct epoll_event event;
    sigset_t none;
    sem_t semaphore;
    int ends[2], epoll = epoll_create1(0);
    struct pollfd never = {.events = POLLIN};
    if (pipe(ends))
        return 1;
    never.fd = ends[0];
    sem_init(&semaphore, 0, 0);
    sigemptyset(&none);
    sigaddset(&none, SIGUSR2);
    WHOLE(nanosleep(&length, NULL), 0);
    WHOLE(clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL), 0);
    WHOLE(usleep(WAIT_MS * 1000), 0);
    WHOLE(poll(&never, 1, WAIT_MS), 0);
    WHOLE(select(0, NULL, NULL, NULL, &timeout), 0);
    WHOLE(epoll_wait(epoll, &event, 1, WAIT_MS), 0);
    deadline = after(CLOCK_REALTIME);
    WHOLE(sem_timedwait(&semaphore, &deadline), ETIMEDOUT);
    WHOLE(sigtimedwait(&none, NULL, &length), EAGAIN);
    return 0;
}

static void nothing(int number) { (void)number; }

static int count_interruptions(void)
{
    enum { SIGNALS = 20 };
    int ends[2], acknowledged[2], interrupted = 0;
    char c = 0;
    if (pipe(ends) || pipe(acknowledged))
        return 1;
    pid_t child = fork();
    if (child == 0) {
        struct sigaction action = {.sa_handler = nothing}; /* no SA_RESTART */
        sigaction(SIGUSR1, &action, NULL);
        do {
            if (write(acknowledged[1], &c, 1) != 1)
                _exit(99);
            if (read(ends[0], &c, 1) == 1)
                break;
            interrupted += errno == EINTR;
        } while (1);
        _exit(interrupted);
    }
    for (int i = 0; i <= SIGNALS; i++) {
        int status = read(acknowledged[0], &c, 1) == 1;
        usleep(10000); /* until it sits in read() */
        if (i < SIGNALS && status)
            kill(child, SIGUSR1);
    }
    int status;
    if (write(ends[1], &c, 1) != 1)
        return 1;
    waitpid(child, &status, 0);
    printf("%d signals, %d interruptions\n", SIGNALS, WEXITSTATUS(status));
    return 0;
}

static sigjmp_buf back;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static int catch_own_faults(void)
{
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = jump_back, .sa_flags = SA_ONSTACK};
    struct itimerval soon = {.it_value = {0, 2000}};
    volatile int faults = 0, left = 0;
    int ends[2];
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c;
    if (pipe(ends))
        return 1;
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    for (volatile int i = 0; i < 1000; i++) {
        if (sigsetjmp(back, 1) == 0)
            *(volatile char *)page = 1;
        faults++;
    }
    for (volatile int i = 0; i < 50; i++) {
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            (void)!read(ends[0], &c, 1);
        } else {
            left++;
        }
    }
    errno = 0;
    ssize_t refused = write(ends[1], page, 1);
    printf("%d faults, left %d reads, bad buffer: %zd %s\n", faults, left, refused, strerror(errno));
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "full") == 0)
        return wait_whole_times();
    if (strcmp(what, "eintr") == 0)
        return count_interruptions();
    if (strcmp(what, "catch") == 0)
        return catch_own_faults();
    return 2;
}
