/* Threads, memory and files, correct and free of leaks: for sanitizers, valgrind, gprof, debuggers, 32 bits. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static long sum_of(const unsigned char *bytes, size_t size)
{
    long sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += bytes[i];
    return sum;
}

static void *work(void *argument)
{
    char path[32];
    int number = *(int *)argument;
    snprintf(path, sizeof path, "memory-%d", number);
    for (int i = 1; i <= ROUNDS; i++) {
        unsigned char *bytes = malloc((size_t)i * 10);
        memset(bytes, number, (size_t)i * 10);
        FILE *file = fopen(path, i == 1 ? "w" : "a");
        fwrite(bytes, 1, (size_t)i * 10, file);
        fclose(file);
        long sum = sum_of(bytes, (size_t)i * 10);
        free(bytes);
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d threads wrote %ld\n", THREADS, total);
    return argc > 1 ? atoi(argv[1]) : 0;
}
