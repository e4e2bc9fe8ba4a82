/* Ends in the way that the first argument names, after 20 calls of MPI_Allreduce on each rank. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void finalize(void) { MPI_Finalize(); }

int main(int argc, char **argv)
{
    int rank, number = 1, sum;
    const char *how = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d sum %d\n", rank, sum);
    fflush(stdout);
    /* All shall have come here, and the launcher have seen what they printed, before one ends the job. */
    usleep(300000);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "kill") && rank == 1)
        raise(SIGKILL);
    if (!strcmp(how, "exit"))
        _exit(5);
    if (!strcmp(how, "closed")) { /* descriptor 2 is another file at the end */
        close(2);
        if (!freopen("not-stderr", "w", stdout) || dup2(fileno(stdout), 2) != 2)
            return 9;
    }
    if (!strcmp(how, "late") && rank == 1)
        sleep(2);
    if (!strcmp(how, "abort") || !strcmp(how, "kill"))
        return MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "atexit"))
        return atexit(finalize);
    if (!strcmp(how, "fail"))
        return MPI_Finalize() || rank == 1 ? 3 : 0;
    return MPI_Finalize();
}
