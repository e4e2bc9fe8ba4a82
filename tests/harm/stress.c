/*
 * stress SECONDS   Threads that come and go, forks, vfork, posix_spawn, killed children, files, pipes, sockets,
 * signals, longjmp out of a read, cancellation, dlopen, changes of user, for so many seconds; keeps the truth
 * (stress_truth.h), checks what it reads, and prints both.
 */
#include "stress_truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, BLOCK = 4096, USES_PER_ROUND = 50, PAUSE_US = 50000 };

extern char **environ;
struct truth *truth;
static const char *self;
static time_t deadline;
static volatile sig_atomic_t handler_ends[2];
static __thread sigjmp_buf back;
static __thread unsigned seed;

/* --- actions that are compared: of threads and of children that end by themselves --- */

static unsigned pick(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void check(int good)
{
    if (!good)
        ADD(truth->errors, 1);
}

static void own_name(char name[64], const char *kind)
{
    snprintf(name, 64, "%s-%d-%ld", kind, (int)getpid(), syscall(SYS_gettid));
}

static void use_file(void)
{
    char name[64], other[64], block[BLOCK], back_again[BLOCK];
    own_name(name, "file");
    own_name(other, "renamed");
    memset(block, (int)pick(256), sizeof block);
    size_t size = 1 + pick(BLOCK);
    int fd = (int)note(CALL_creat, open(name, O_RDWR | O_CREAT | O_TRUNC, 0666), 0, 0);
    check(DO_OUT(write, fd, block, size) == (long)size);
    check(DO_OUT(pwrite, fd, block, size, (off_t)size) == (long)size);
    DO(lseek, fd, 0, SEEK_SET);
    check(DO_IN(read, fd, back_again, size) == (long)size && memcmp(block, back_again, size) == 0);
    check(DO_IN(pread, fd, back_again, size, (off_t)size) == (long)size && memcmp(block, back_again, size) == 0);
    int copy = (int)DO(dup, fd);
    DO(close, fd);
    DO(close, copy);
    DO(rename, name, other);
    check(DO(unlink, other) == 0);
    check(DO(open, name, O_RDONLY) == -1);
}

static void use_stream(void)
{
    char name[64], block[BLOCK], back_again[BLOCK];
    own_name(name, "stream");
    memset(block, (int)pick(256), sizeof block);
    size_t size = 1 + pick(BLOCK);
    FILE *stream = fopen(name, "w");
    note(CALL_fopen_creat, stream != NULL, 0, 0);
    check(DO_OUT(fwrite, block, 1, size, stream) == (long)size);
    DO(fclose, stream);
    stream = fopen(name, "r");
    note(CALL_fopen, stream != NULL, 0, 0);
    check(DO_IN(fread, back_again, 1, size, stream) == (long)size && memcmp(block, back_again, size) == 0);
    DO(fclose, stream);
    DO(unlink, name);
}

static void use_pipe(void)
{
    char word[16] = "", sent[16] = "through a pipe";
    int ends[2];
    DO(pipe, ends);
    DO_OUT(write, ends[1], sent, sizeof sent);
    check(DO_IN(read, ends[0], word, sizeof word) == sizeof word && memcmp(word, sent, sizeof word) == 0);
    DO(close, ends[1]);
    check(DO_IN(read, ends[0], word, sizeof word) == 0);
    DO(close, ends[0]);
}

static void use_socket(void)
{
    char word[16] = "", sent[16] = "through sockets";
    int ends[2];
    DO(socketpair, AF_UNIX, SOCK_STREAM, 0, ends);
    check(DO_OUT(sendto, ends[0], sent, sizeof sent, MSG_NOSIGNAL, NULL, 0) == sizeof sent);
    check(DO_IN(recvfrom, ends[1], word, sizeof word, 0, NULL, NULL) == sizeof word &&
          memcmp(word, sent, sizeof word) == 0);
    DO(close, ends[0]);
    DO(close, ends[1]);
}

static void use_directory(void)
{
    char name[64];
    own_name(name, "directory");
    check(DO(mkdir, name, 0777) == 0);
    check(DO(mkdir, name, 0777) == -1);
    check(DO(rmdir, name) == 0);
}

static void (*const uses[])(void) = {use_file, use_pipe, use_socket, use_directory, use_stream};
enum { USES = sizeof uses / sizeof *uses, SAFE_AFTER_FORK = USES - 1 };

static void *short_thread(void *argument)
{
    seed = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i <= seed % 7; i++)
        uses[pick(USES)]();
    return NULL;
}

static void start_threads(void)
{
    pthread_t threads[4];
    int started = 0;
    for (unsigned i = 0; i < 4; i++)
        started += pthread_create(&threads[started], NULL, short_thread, (void *)(uintptr_t)(seed + i)) == 0;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    ADD(truth->threads, started);
}

static void wait_for(pid_t child, int wanted)
{
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    check(WIFEXITED(status) ? WEXITSTATUS(status) == wanted : WTERMSIG(status) == -wanted);
}

/* A child that uses files; one in a hundred lives long enough to get a helper and a file of its own. */
static void fork_child(void)
{
    const int lives_long = pick(100) == 0;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < (lives_long ? 24 : 3); i++) {
            uses[pick(SAFE_AFTER_FORK)]();
            if (lives_long)
                nanosleep(&(struct timespec){0, 100000000}, NULL);
        }
        _exit(7);
    }
    wait_for(child, 7);
    ADD(truth->forks, 1);
}

/* --- actions that are not compared --- */

static void spawn_child(void)
{
    char *arguments[] = {(char *)self, "nothing", NULL};
    pid_t child;
    if (pick(2)) {
        if ((child = vfork()) == 0) {
            execv(self, arguments);
            _exit(1);
        }
    } else if (posix_spawn(&child, self, NULL, NULL, arguments, environ)) {
        check(0);
        return;
    }
    wait_for(child, 5);
    ADD(truth->spawns, 1);
}

static void kill_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        char block[BLOCK];
        struct iovec part = {block, sizeof block};
        int zero = (int)syscall(SYS_open, "/dev/zero", O_RDWR);
        for (;;)
            if (readv(zero, &part, 1) != sizeof block || writev(zero, &part, 1) != sizeof block)
                _exit(9);
    }
    usleep(1 + pick(20000));
    kill(child, SIGKILL);
    wait_for(child, -SIGKILL);
    ADD(truth->kills, 1);
}

/* In a child, so that the other threads keep their rights. */
/* glibc 2.36 can hang if a thread that waits in a read is cancelled while another changes the user: SIGCANCEL then
 * leaves the handler of SIGSETXID by the back door, and the answer that the other waits for never comes. */
static pthread_mutex_t cancel_or_change = PTHREAD_MUTEX_INITIALIZER;

static void change_user(void)
{
    pid_t child;
    if (getuid() != 0)
        return;
    if ((child = fork()) == 0) {
        char byte = 0;
        struct iovec part = {&byte, 1};
        int null = (int)syscall(SYS_open, "/dev/null", O_WRONLY);
        int refused = setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534);
        syscall(SYS_exit_group, refused || writev(null, &part, 1) != 1 ? 1 : 8);
    }
    wait_for(child, 8);
    /* And for a moment in the process itself: libc makes all its threads change. */
    pthread_mutex_lock(&cancel_or_change);
    check(seteuid(65534) == 0 && geteuid() == 65534 && seteuid(0) == 0);
    pthread_mutex_unlock(&cancel_or_change);
    ADD(truth->users, 1);
}

static void load_library(void)
{
    void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    check(library != NULL);
    if (library)
        dlclose(library);
    ADD(truth->loads, 1);
}

static void leave_read(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

/* A timer of this thread's own ends a recv() that would never return. */
static void jump_out_of_read(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec soon = {.it_value = {0, 1000000}};
    static __thread int ends[2];
    static __thread timer_t timer;
    char c;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends) || timer_create(CLOCK_MONOTONIC, &event, &timer))
        return;
    if (sigsetjmp(back, 1) == 0) {
        timer_settime(timer, 0, &soon, NULL);
        check(recv(ends[0], &c, 1, 0) != 1);
    }
    timer_delete(timer);
    syscall(SYS_close, ends[0]);
    syscall(SYS_close, ends[1]);
    ADD(truth->jumps, 1);
}

static void *read_for_ever(void *end)
{
    char c;
    struct iovec part = {&c, 1};
    while (readv(*(int *)end, &part, 1) == 1)
        ;
    return NULL;
}

static void cancel_thread(void)
{
    pthread_t thread;
    void *result;
    int ends[2];
    if (syscall(SYS_pipe, ends))
        return;
    if (pthread_create(&thread, NULL, read_for_ever, &ends[0]) == 0) {
        usleep(pick(500));
        pthread_mutex_lock(&cancel_or_change);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        pthread_mutex_unlock(&cancel_or_change);
        check(result == PTHREAD_CANCELED);
    }
    syscall(SYS_close, ends[0]);
    syscall(SYS_close, ends[1]);
    ADD(truth->cancels, 1);
}

static void in_handler(int number)
{
    const int saved = errno;
    char c = (char)number;
    struct iovec part = {&c, 1};
    check(writev((int)handler_ends[1], &part, 1) == 1 && readv((int)handler_ends[0], &part, 1) == 1);
    ADD(truth->signals, 1);
    errno = saved;
}

/* --- the run --- */

static void *work(void *argument)
{
    static void (*const actions[])(void) = {start_threads,    fork_child,    spawn_child, kill_child,
                                            jump_out_of_read, cancel_thread, load_library};
    seed = (unsigned)(uintptr_t)argument * 7919u + 1u;
    while (time(NULL) < deadline) {
        for (int i = 0; i < USES_PER_ROUND; i++)
            uses[pick(USES)]();
        actions[pick(sizeof actions / sizeof *actions)]();
        usleep(PAUSE_US); /* some ten processes a second: in an hour their log stays below its limit */
    }
    return NULL;
}

static void handle_signals(void)
{
    struct sigaction handle = {.sa_handler = in_handler, .sa_flags = SA_RESTART}, leave = {.sa_handler = leave_read};
    int ends[2];
    if (syscall(SYS_pipe, ends))
        exit(1);
    handler_ends[0] = ends[0];
    handler_ends[1] = ends[1];
    sigaction(SIGALRM, &handle, NULL);
    sigaction(SIGUSR1, &leave, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 10000}, {0, 10000}}, NULL);
}

static void sleep_whole(time_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void report(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("%lu threads, %lu forks, %lu spawns, %lu kills, %lu jumps, %lu cancels, %lu handled signals, %lu loads, "
           "%lu changes of user, %lu errors\n",
           truth->threads, truth->forks, truth->spawns, truth->kills, truth->jumps, truth->cancels, truth->signals,
           truth->loads, truth->users, truth->errors);
    truth_print();
}

int main(int argc, char **argv)
{
    pthread_t workers[WORKERS];
    if (argc == 2 && strcmp(argv[1], "nothing") == 0)
        return 5;
    self = argv[0];
    deadline = time(NULL) + (argc == 2 ? atoi(argv[1]) : 1);
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    handle_signals();
    for (uintptr_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)i);
    while (time(NULL) < deadline) {
        sleep_whole(2); /* the helper may start again a second after such a change */
        change_user();
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    report();
    return truth->errors ? 1 : 0;
}
