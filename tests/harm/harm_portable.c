/*
 * Things that programs do and a preloaded library can break. Built for glibc, for musl, and static.
 *
 *     harm_portable io            files, stdio, threads
 *     harm_portable pthread_exit  the main thread ends first; the process must end with its last thread
 *     harm_portable close_all     closes every descriptor, then uses the lowest numbers
 *     harm_portable spawn         vfork and exec, posix_spawn with file actions
 *     harm_portable cancel        cancels a thread that sits in read()
 *     harm_portable segv          dies of SIGSEGV after some output
 *     harm_portable alternate     handles a signal on a small stack of its own, with I/O in the handler
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *write_lines(void *name)
{
    char path[64], line[64];
    snprintf(path, sizeof path, "lines-%s", (const char *)name);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fprintf(f, "%s %d\n", (const char *)name, i);
    fclose(f);
    int fd = open(path, O_RDONLY);
    ssize_t n, total = 0;
    while ((n = read(fd, line, sizeof line)) > 0)
        total += n;
    close(fd);
    return (void *)(intptr_t)total;
}

static int io(void)
{
    pthread_t threads[4];
    char *names[4] = {"a", "b", "c", "d"};
    struct stat s;
    void *total;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, write_lines, names[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &total);
        printf("%s: %ld bytes\n", names[i], (long)(intptr_t)total);
    }
    rename("lines-a", "renamed");
    int gone = stat("lines-a", &s), there = stat("renamed", &s);
    printf("renamed: %d, gone: %d, size: %ld\n", there, gone, (long)s.st_size);
    return 0;
}

static void *outlive_main(void *unused)
{
    (void)unused;
    usleep(100000);
    puts("the last thread");
    fflush(stdout);
    return NULL;
}

static int end_main_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, outlive_main, NULL);
    pthread_exit(NULL);
}

static int close_all(void)
{
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    int first = open("mine", O_RDWR | O_CREAT | O_TRUNC, 0600), second = dup(first);
    dprintf(first, "only what I wrote\n");
    usleep(200000); /* time for a helper to write where it should not */
    char text[64] = "";
    ssize_t n = pread(second, text, sizeof text - 1, 0);
    printf("%d %d %zd %s", first, second, n, text);
    return 0;
}

static int spawn(const char *self)
{
    char *io_arguments[] = {(char *)self, "io", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    if ((child = vfork()) == 0) {
        dup2(open("vforked", O_WRONLY | O_CREAT, 0600), 1);
        execv(self, io_arguments);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("vfork: %d\n", status);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addclose(&actions, 0);
    printf("posix_spawn: %d\n", posix_spawn(&child, self, &actions, NULL, io_arguments, environ));
    waitpid(child, &status, 0);
    printf("its status: %d, missing: %d\n", status,
           posix_spawn(&child, "/no/such/program", NULL, NULL, io_arguments, environ));
    return 0;
}

static void cleaned_up(void *text) { puts(text); }

static void *sit_in_read(void *fd)
{
    char c;
    pthread_cleanup_push(cleaned_up, "cleaned up");
    while (read(*(int *)fd, &c, 1) == 1)
        ;
    pthread_cleanup_pop(0);
    return NULL;
}

static int cancel(void)
{
    pthread_t thread;
    void *result;
    int ends[2];
    if (pipe(ends))
        return 1;
    pthread_create(&thread, NULL, sit_in_read, &ends[0]);
    usleep(50000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    return 0;
}

static int segv(void)
{
    puts("before");
    fflush(stdout);
    raise(SIGSEGV);
    return 0;
}

static void say_hello(int number)
{
    (void)number;
    int fd = open("from-handler", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(fd, "hello\n", 6) == 6)
        close(fd);
}

static int alternate_stack(void)
{
    static char stack[16384];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = say_hello, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    return system("cat from-handler");
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "io") == 0)
        return io();
    if (strcmp(what, "pthread_exit") == 0)
        return end_main_thread();
    if (strcmp(what, "close_all") == 0)
        return close_all();
    if (strcmp(what, "spawn") == 0)
        return spawn(argv[0]);
    if (strcmp(what, "cancel") == 0)
        return cancel();
    if (strcmp(what, "segv") == 0)
        return segv();
    if (strcmp(what, "alternate") == 0)
        return alternate_stack();
    return 2;
}
