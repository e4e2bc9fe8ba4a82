/*
 * ends_target TRUTH HOW [AGE_MS]: writes single bytes to /dev/null for AGE_MS (default 600), noting each finished call
 * in the shared file TRUTH, which survives any death, then ends in the way that HOW names. With MPI (-DWITH_MPI) every
 * rank does so, with a note of its own, and the last one ends in that way while the others wait for it. The calls are
 * pwrite: no MPI library makes such calls of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static uint64_t *finished;
static int null;

static void count_for(long ms)
{
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000;
    do {
        for (int i = 0; i < 100; i++)
            *finished += pwrite(null, "x", 1, 0) == 1;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void *last_thread(void *unused)
{
    (void)unused;
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    *finished += pwrite(null, "x", 1, 0) == 1;
    return NULL;
}

static void last_handler(void) { *finished += pwrite(null, "x", 1, 0) == 1; }

/* The main thread is gone, the process goes on. */
static void end_main_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, last_thread, NULL) == 0)
        pthread_exit(NULL);
}

/* The parent ends at once, by its status 5; its child goes on counting, with a note of its own. */
static void leave_a_child(long ms)
{
    if (fork() == 0) {
        finished++;
        count_for(ms);
        _exit(0);
    }
    exit(5);
}

static int end(const char *how, long ms, char **argv)
{
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "_exit"))
        _exit(4);
    if (!strcmp(how, "_Exit"))
        _Exit(6);
    if (!strcmp(how, "quick_exit")) {
        at_quick_exit(last_handler);
        quick_exit(5);
    }
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        raise(SIGSEGV);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "pthread_exit"))
        end_main_thread();
    if (!strcmp(how, "orphan"))
        leave_a_child(ms);
    if (!strcmp(how, "exec"))
        execl(argv[0], argv[0], argv[1], "return", "300", "1", NULL);
#ifdef WITH_MPI
    if (!strcmp(how, "MPI_Abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "finalize"))
        MPI_Finalize();
#endif
    return 2;
}

int main(int argc, char **argv)
{
    const long ms = argc > 3 ? atol(argv[3]) : 600;
    const int file = argc > 2 ? open(argv[1], O_RDWR) : -1;
    finished = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    null = open("/dev/null", O_WRONLY);
    if (finished == MAP_FAILED || null < 0)
        return 99;
    finished += argc > 4 ? atol(argv[4]) : 0;
#ifdef WITH_MPI
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    finished += rank;
    count_for(ms);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != ranks - 1 && strcmp(argv[2], "finalize") != 0) { /* unless the launcher ends it before */
        sleep(1);
        _exit(0);
    }
    if (rank != ranks - 1) { /* all finalize; a status that is not 0 may make the launcher kill the others meanwhile */
        MPI_Finalize();
        return 0;
    }
#else
    count_for(ms);
#endif
    return end(argv[2], ms, argv);
}
