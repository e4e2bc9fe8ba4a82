/*
 * kill_target FILE THREADS: each thread writes single bytes to /dev/null for ever and notes each finished call in its
 * own word of the shared FILE, which survives a SIGKILL of this program: the truth that the profile is compared with.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int null;

static void *work(void *argument)
{
    volatile uint64_t *finished = argument;
    for (;;) {
        if (write(null, "x", 1) != 1)
            return NULL;
        ++*finished;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int threads = atoi(argv[2]), file = open(argv[1], O_RDWR);
    uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    null = open("/dev/null", O_WRONLY);
    if (words == MAP_FAILED || null < 0 || threads < 1 || threads > 64)
        return 1;
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, &words[8 * i]))
            return 1;
    }
    work(&words[0]);
    return 1;
}
