#include "stop.h"

#include <mpi.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 60, SPARE_S = 300, POLL_NS = 2000000 };

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };
static int ignored[N_NUMBERS]; /* by nohup, or by a shell that starts it in the background */
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

void load_stop_begin(void)
{
    for (int i = 0; i < N_NUMBERS; i++) {
        struct sigaction before;
        ignored[i] = sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
    }
}

void load_stop_watch(double seconds)
{
    const struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    const struct sigaction none = {.sa_handler = SIG_IGN}, last = {.sa_handler = give_up};
    for (int i = 0; i < N_NUMBERS; i++)
        sigaction(numbers[i], ignored[i] ? &none : &action, NULL);
    sigaction(SIGXFSZ, &none, NULL); /* a write that is too long fails */
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
