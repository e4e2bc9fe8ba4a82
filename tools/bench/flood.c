/*
 * Threads that call one function as fast as they can: a lock, or a cache line that they share, would show as calls that
 * slow each other down. Prints for each function
 *     FUNCTION THREADS CALLS_PER_SECOND
 *
 *     flood THREADS CALLS      CALLS of each function, over all threads
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

static long calls_of_thread;
static int null;
static pthread_barrier_t barrier;

static void flood_lseek(FILE *sink)
{
    (void)sink;
    lseek(null, 0, SEEK_CUR);
}

static void flood_write(FILE *sink)
{
    (void)sink;
    if (write(null, "x", 1) != 1)
        exit(1);
}

static void flood_fwrite_unlocked(FILE *sink)
{
    if ((fwrite_unlocked)("12345678", 8, 1, sink) != 1) /* the function, not the macro */
        exit(1);
}

static const struct {
    const char *name;
    void (*call)(FILE *sink);
} functions[] = {{"lseek", flood_lseek}, {"write", flood_write}, {"fwrite_unlocked", flood_fwrite_unlocked}};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* Each thread has a stream of its own; the barriers are around each function's calls. */
static void *thread_main(void *argument)
{
    FILE *sink = fopen("/dev/null", "w");
    if (!sink)
        exit(1);
    for (int f = 0; f < N_FUNCTIONS; f++) {
        pthread_barrier_wait(&barrier);
        for (long i = 0; i < calls_of_thread; i++)
            functions[f].call(sink);
        pthread_barrier_wait(&barrier);
    }
    return argument;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    pthread_t thread[MAX_THREADS];
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    long calls = argc == 3 ? atol(argv[2]) : 0;
    if (threads < 1 || threads > MAX_THREADS || calls < threads) {
        fprintf(stderr, "usage: %s THREADS CALLS\n", argv[0]);
        return 2;
    }
    calls_of_thread = calls / threads;
    null = open("/dev/null", O_WRONLY);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, thread_main, NULL))
            return 1;
    for (int f = 0; f < N_FUNCTIONS; f++) {
        pthread_barrier_wait(&barrier);
        double begin = now_s();
        pthread_barrier_wait(&barrier);
        printf("%s %d %.0f\n", functions[f].name, threads, (double)(calls_of_thread * threads) / (now_s() - begin));
    }
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
