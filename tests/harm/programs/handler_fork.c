/* A signal handler forks while a call waits, and returns into the call in parent and child: read, splice. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int ends[2];
static volatile pid_t child;

/* The parent writes what both will read; the child does nothing before it returns. */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    int saved = errno;
    child = fork();
    if (child && write(ends[1], "1\n2\n", 4) != 4)
        _exit(98);
    errno = saved;
}

static int waits_in(int which, int null)
{
    char text[2];
    if (which == 0)
        return read(ends[0], text, 2) == 2;
    return splice(ends[0], NULL, null, NULL, 2, 0) == 2;
}

int main(void)
{
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    const pid_t parent = getpid();
    int null = open("/dev/null", O_WRONLY);
    sigaction(SIGALRM, &action, NULL);
    for (int which = 0; which < 2; which++) {
        int status;
        if (pipe(ends) != 0)
            return 1;
        setitimer(ITIMER_REAL, &soon, NULL);
        int good = waits_in(which, null);
        if (getpid() != parent)
            _exit(good ? 7 : 8);
        waitpid(child, &status, 0);
        printf("%d: parent %d, child %s %d\n", which, good, WIFSIGNALED(status) ? "killed by" : "ended with",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        close(ends[0]);
        close(ends[1]);
    }
    return 0;
}
