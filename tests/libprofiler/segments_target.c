/*
 * segments_target FILE MICROSECONDS: calls MPI_Allreduce for ever and notes each finished call in its rank's own word
 * of the shared FILE, which survives: the truth that the profile is compared with. After that time it kills itself with
 * SIGKILL, wherever it is.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static useconds_t life;

static void *kill_later(void *unused)
{
    (void)unused;
    usleep(life);
    kill(getpid(), SIGKILL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t killer;
    int rank, file = argc == 3 ? open(argv[1], O_RDWR) : -1;
    volatile uint64_t *finished = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (finished == MAP_FAILED)
        return 1;
    life = (useconds_t)atoi(argv[2]);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    finished += 8 * rank;
    if (pthread_create(&killer, NULL, kill_later, NULL))
        return 1;
    for (double mine = 1, sum;;) {
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        ++*finished;
    }
}
