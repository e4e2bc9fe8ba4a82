/*
 * victim.c SECONDS FILE   A bulk-synchronous program: a millisecond of arithmetic, a small MPI_Allreduce, and so on;
 * now and then each rank writes a part of FILE.HOST.PID. What takes a rank's processor away holds up all ranks.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 1 << 18, STEPS_PER_WRITE = 100, PART = 256 << 10, PARTS = 64 };

static volatile double sink; /* the compiler has to do the work */

static double arithmetic(double x)
{
    for (int i = 0; i < ROUNDS; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

int main(int argc, char **argv)
{
    static const char part[PART];
    char path[512], host[64] = "";
    if (argc < 3)
        return 2;
    MPI_Init(&argc, &argv);
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s.%s.%d", argv[2], host, (int)getpid());
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    const double end = MPI_Wtime() + atof(argv[1]);
    double state[2] = {1.0, 0.0}; /* the value; how many ranks find that it is time to end */
    for (long step = 1; state[1] == 0.0; step++) {
        state[0] = arithmetic(state[0]);
        state[1] = MPI_Wtime() >= end;
        MPI_Allreduce(MPI_IN_PLACE, state, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (step % STEPS_PER_WRITE == 0 &&
            pwrite(fd, part, sizeof part, step / STEPS_PER_WRITE % PARTS * (off_t)sizeof part) != PART)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    sink = state[0];
    close(fd);
    MPI_Finalize();
    return 0;
}
