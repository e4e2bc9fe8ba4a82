/*
 * job.c SECONDS PREFIX   Write 4096 bytes every 10 ms into a file of its own, PREFIX.HOST.PID: its size is the truth
 * that the profile is compared with, whatever ended the process. With MPI a barrier follows each write.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int is_over(double end)
{
    int over = now() >= end;
#ifdef WITH_MPI
    MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    return over;
}

int main(int argc, char **argv)
{
    static const char block[4096];
    const struct timespec pause = {.tv_nsec = 10000000};
    char path[512], host[64];
    if (argc < 3)
        return 2;
#ifdef WITH_MPI
    MPI_Init(&argc, &argv);
#endif
    gethostname(host, sizeof host);
    snprintf(path, sizeof path, "%s.%s.%d", argv[2], host, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return 1;
    double end = now() + atof(argv[1]);
    while (!is_over(end)) {
        if (write(fd, block, sizeof block) != sizeof block)
            return 1;
        nanosleep(&pause, NULL);
    }
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
