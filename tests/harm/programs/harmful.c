/*
 * A library as it must not be: HARM names what it does to each program that it is preloaded into. The suite must see
 * it; test_suite_sees_harm.py says which case does.
 *
 *     errno        a failing open() leaves another error number
 *     descriptor   an open descriptor stays
 *     thread       pthread_create in the constructor
 *     timer        SIGPROF every 5 ms
 *     ignore       SIGPIPE is ignored
 *     environment  one more variable
 *     memory       180 MB of address space
 *     exit         a line on standard error at the end
 *     status       exit status 0 for all
 *     bytes        one byte fewer in each tenth write to a file
 *     directory    the working directory changes
 *     (unset)      nothing: the suite must not see that
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static int does(const char *harm)
{
    const char *chosen = getenv("HARM");
    return chosen && strcmp(chosen, harm) == 0;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = va_arg(arguments, int);
    va_end(arguments);
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int fd = real(path, flags, mode);
    if (fd < 0 && does("errno"))
        errno = EIO;
    return fd;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    static int calls;
    struct stat status;
    ssize_t (*real)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (size && does("bytes") && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ++calls % 10 == 0)
        return real(fd, bytes, size - 1) < 0 ? -1 : (ssize_t)size;
    return real(fd, bytes, size);
}

static void *sleep_on(void *unused)
{
    sleep(1);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    struct itimerval often = {{0, 5000}, {0, 5000}};
    if (does("descriptor"))
        (void)!openat(AT_FDCWD, "/dev/null", O_RDONLY);
    if (does("thread"))
        pthread_create(&thread, NULL, sleep_on, NULL);
    if (does("timer"))
        setitimer(ITIMER_PROF, &often, NULL);
    if (does("ignore"))
        signal(SIGPIPE, SIG_IGN);
    if (does("environment"))
        setenv("HARMED", "1", 1);
    if (does("memory"))
        (void)!mmap(NULL, 180 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (does("directory"))
        (void)!chdir("/");
}

__attribute__((destructor)) static void end(void)
{
    if (does("exit"))
        (void)!write(2, "harmed\n", 7);
    if (does("status"))
        _exit(0);
}
