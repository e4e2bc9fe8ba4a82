/*
 * kernel mlockall   locks all memory, present and future, then starts threads
 * kernel io_uring   writes and reads a file through a ring, by raw system calls
 * kernel random     getrandom, and clocks through the vDSO that never go back
 * kernel attributes what a process has of its own: umask, directory, nice value, signal mask and handlers, flags
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void *touch(void *unused)
{
    char *memory = malloc(1 << 20);
    memset(memory, 1, 1 << 20);
    free(memory);
    return unused;
}

static int lock_memory(void)
{
    pthread_t threads[4];
    int failed = 0, locked = mlockall(MCL_CURRENT | MCL_FUTURE);
    for (int i = 0; i < 4; i++)
        failed += pthread_create(&threads[i], NULL, touch, NULL) != 0;
    for (int i = 0; i < 4 - failed; i++)
        pthread_join(threads[i], NULL);
    printf("mlockall: %d, threads refused: %d\n", locked, failed);
    return 0;
}

/* One operation at a time: submit it and wait for its result. */
struct ring {
    int fd;
    unsigned char *submission, *completion;
    struct io_uring_sqe *entries;
    struct io_uring_params parameters;
};

static int ring_open(struct ring *ring)
{
    memset(ring, 0, sizeof *ring);
    ring->fd = (int)syscall(SYS_io_uring_setup, 1, &ring->parameters);
    if (ring->fd < 0)
        return 0;
    const struct io_uring_params *p = &ring->parameters;
    size_t submission = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    size_t completion = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    ring->submission = mmap(NULL, submission, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
    ring->completion = mmap(NULL, completion, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
    ring->entries = mmap(NULL, p->sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED,
                         ring->fd, IORING_OFF_SQES);
    return 1;
}

static int ring_do(struct ring *ring, unsigned char operation, int fd, void *buffer, unsigned length)
{
    const struct io_uring_params *p = &ring->parameters;
    unsigned *tail = (unsigned *)(ring->submission + p->sq_off.tail);
    unsigned *head = (unsigned *)(ring->completion + p->cq_off.head);
    unsigned mask = *(unsigned *)(ring->completion + p->cq_off.ring_mask);
    ring->entries[0] =
        (struct io_uring_sqe){.opcode = operation, .fd = fd, .addr = (unsigned long)buffer, .len = length};
    ((unsigned *)(ring->submission + p->sq_off.array))[0] = 0;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        return -1;
    int result = ((struct io_uring_cqe *)(ring->completion + p->cq_off.cqes))[*head & mask].res;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return result;
}

static int use_ring(void)
{
    struct ring ring;
    char text[] = "through a ring\n", back[64] = "";
    if (!ring_open(&ring))
        return 77;
    int fd = open("ring", O_RDWR | O_CREAT | O_TRUNC, 0600), wrote = 0, got = 0;
    for (int i = 0; i < 100; i++) {
        wrote += ring_do(&ring, IORING_OP_WRITE, fd, text, sizeof text - 1);
        got += ring_do(&ring, IORING_OP_READ, fd, back, sizeof text - 1);
    }
    printf("wrote %d, read %d: %s", wrote, got, back);
    return 0;
}

static int be_random(void)
{
    struct timespec before = {0}, now;
    int backward = 0;
    unsigned char bytes[256] = {0};
    for (int i = 0; i < 100000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        backward += now.tv_sec < before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec < before.tv_nsec);
        before = now;
    }
    printf("random: %zd, clock went back: %d\n", getrandom(bytes, sizeof bytes, 0), backward);
    return 0;
}

static int show_attributes(void)
{
    sigset_t mask;
    char cwd[256];
    usleep(300000); /* until a helper has settled */
    sigprocmask(SIG_SETMASK, NULL, &mask);
    int blocked = 0, ignored = 0;
    for (int s = 1; s < 65; s++) {
        struct sigaction action;
        blocked += sigismember(&mask, s) == 1;
        ignored += sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
    }
    printf("umask %o, nice %d, %d blocked, %d handled, dumpable %d, keepcaps %d, subreaper ", umask(0),
           getpriority(PRIO_PROCESS, 0), blocked, ignored, prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS));
    int subreaper = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    char *tail = getcwd(cwd, sizeof cwd) ? strrchr(cwd, '/') : "?";
    printf("%d, in %s, own group %d\n", subreaper, tail, getpgrp() == getpid());
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    if (strcmp(what, "mlockall") == 0)
        return lock_memory();
    if (strcmp(what, "io_uring") == 0)
        return use_ring();
    if (strcmp(what, "random") == 0)
        return be_random();
    if (strcmp(what, "attributes") == 0)
        return show_attributes();
    return 2;
}
