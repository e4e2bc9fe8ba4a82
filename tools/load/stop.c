#include "stop.h"

#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 60, SPARE_S = 300, POLL_NS = 2000000 };

static volatile sig_atomic_t asked;

static void remember(int number)
{
    (void)number;
    if (!asked)
        alarm(GRACE_S);
    asked = 1;
}

static void give_up(int number)
{
    static const char words[] = "load program: the other ranks do not come to an end: giving up, files may be left\n";
    (void)number;
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(1);
    _exit(1);
}

void load_stop_watch(double seconds)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    const struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    const struct sigaction last = {.sa_handler = give_up};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup, or a shell's background */
            sigaction(numbers[i], &action, NULL);
    }
    sigaction(SIGALRM, &last, NULL);
    alarm((unsigned)seconds + SPARE_S);
}

int load_stop_asked(void) { return asked; }

void load_stop_meet(void)
{
    MPI_Request all;
    int here = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (;;) {
        MPI_Test(&all, &here, MPI_STATUS_IGNORE);
        if (here)
            return;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
}
