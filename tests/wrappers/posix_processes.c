/*
 * Processes that share nothing but a past: each counts its own calls from zero.
 *
 *     posix_processes fork    parent: 10 writes, child: 20
 *     posix_processes vfork   parent: 10 writes; the child of vfork becomes `posix_processes leaf`
 *     posix_processes spawn   the same with posix_spawn
 *     posix_processes raw     the child of a raw fork system call: 20 writes
 *     posix_processes leaf    30 writes
 *     posix_processes killed  40 writes, then SIGKILL
 *     posix_processes _exit   50 writes, then _exit(3)
 *
 * Each write is of 8 bytes. The image of a process after exec is another one.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "posix_expect.h"

extern char **environ;

static void write_times(int n)
{
    int fd = open("/dev/null", O_WRONLY);
    while (n--)
        MUST(write(fd, "12345678", 8) == 8);
    close(fd);
}

static void wait_for(pid_t child)
{
    int status;
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static pid_t start_leaf(const char *how, char *self)
{
    char *arguments[] = {self, "leaf", NULL};
    pid_t child = -1;
    if (strcmp(how, "spawn") == 0) {
        MUST(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0);
        return child;
    }
    child = vfork();
    if (child == 0) {
        execv(self, arguments);
        _exit(1);
    }
    return child;
}

static pid_t fork_writer(const char *how)
{
    pid_t child = strcmp(how, "raw") == 0 ? (pid_t)syscall(SYS_fork) : fork();
    if (child == 0) {
        write_times(20);
        exit(0);
    }
    return child;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    const char *what = argv[1];
    if (strcmp(what, "leaf") == 0) {
        write_times(30);
    } else if (strcmp(what, "killed") == 0) {
        write_times(40);
        usleep(100000); /* the spool file is there by then */
        raise(SIGKILL);
    } else if (strcmp(what, "_exit") == 0) {
        write_times(50);
        _exit(3);
    } else {
        write_times(5);
        int forks = strcmp(what, "fork") == 0 || strcmp(what, "raw") == 0;
        wait_for(forks ? fork_writer(what) : start_leaf(what, argv[0]));
        write_times(5);
    }
    return 0;
}
