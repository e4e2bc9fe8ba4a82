/*
 * Descriptors that are no files, memory maps, asynchronous I/O, and fcntl; under every name.
 *
 *     posix_special DIRECTORY
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>

#include "posix_expect.h"

int __fcntl(int, int, ...); /* no header declares it */

static char buf[8192];

static void close_it(long fd) { DO(close, 0, 0, close((int)fd), 0); }

static void no_files(void)
{
    char name[64];
    sigset_t none;
    sigemptyset(&none);
    close_it(GET(eventfd, eventfd(0, 0)));
    close_it(GET(epoll_create, epoll_create(1)));
    close_it(GET(epoll_create1, epoll_create1(0)));
    close_it(GET(timerfd_create, timerfd_create(CLOCK_MONOTONIC, 0)));
    close_it(GET(signalfd, signalfd(-1, &none, 0)));
    close_it(GET(inotify_init, inotify_init()));
    close_it(GET(inotify_init1, inotify_init1(0)));
    close_it(GET(memfd_create, memfd_create("test", 0)));
    close_it(GET(posix_openpt, posix_openpt(O_RDWR | O_NOCTTY)));
    snprintf(name, sizeof name, "/crosswind-test-%d", (int)getpid());
    close_it(GET(shm_open, shm_open(name, O_CREAT | O_RDWR, 0600)));
    DO(shm_unlink, 0, 0, shm_unlink(name), 0);
}

static void controls(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_len = 1};
    struct flock64 lock64 = {.l_type = F_WRLCK, .l_len = 1};
    close_it(GET(fcntl, fcntl(fd, F_DUPFD, 100)));
    close_it(GET(fcntl, fcntl64(fd, F_DUPFD_CLOEXEC, 100)));
    DO(fcntl, 0, 0, __fcntl(fd, F_GETFD), 0);
    DO(fcntl, 0, 0, fcntl(fd, F_SETLK, &lock), 0);
    DO(fcntl, 0, 0, fcntl64(fd, F_SETLKW64, &lock64), 0);
    DO(fcntl, 0, 0, fcntl(-1, F_GETFD), -1);
    MUST(errno == EBADF);
}

static void maps(int fd)
{
    char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(at != MAP_FAILED);
    CALLED(mmap, 0, 0);
    at[5000] = 'x';
    DO(msync, 0, 0, msync(at, 8192, MS_SYNC), 0);
    MUST(munmap(at, 8192) == 0);
    MUST(mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096) != MAP_FAILED);
    CALLED(mmap, 0, 0);
    MUST(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED && errno == EINVAL);
    CALLED(mmap, 0, 0);
    MUST(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED); /* of no file: not counted */
    DO(msync, 0, 0, msync(buf + 1, 1, MS_SYNC), -1);
}

static void memory_to_pipe(void)
{
    int a[2], b[2];
    struct iovec one = {buf, 60};
    GET(pipe, pipe(a));
    GET(pipe, pipe(b));
    DO(vmsplice, 60, 0, vmsplice(a[1], &one, 1, 0), 60);
    DO(tee, 40, 0, tee(a[0], b[1], 40, 0), 40);
    for (int i = 0; i < 2; i++) {
        close_it(a[i]);
        close_it(b[i]);
    }
}

/* Waits for the request and takes its result. */
static void finish(struct aiocb *request, unsigned long out, unsigned long in)
{
    const struct aiocb *list[2] = {NULL, request};
    while (aio_error(request) == EINPROGRESS) {
        aio_suspend(list, 2, NULL);
        CALLED(aio_suspend, 0, 0);
    }
    DO(aio_return, out, in, aio_return(request), (long)(out + in));
}

static void finish64(struct aiocb64 *request, unsigned long out, unsigned long in)
{
    const struct aiocb64 *list[1] = {request};
    while (aio_error64(request) == EINPROGRESS) {
        aio_suspend64(list, 1, NULL);
        CALLED(aio_suspend, 0, 0);
    }
    DO(aio_return, out, in, aio_return64(request), (long)(out + in));
}

static void asynchronous(int fd)
{
    struct aiocb a = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 1000};
    struct aiocb64 b = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 2000};
    struct aiocb w = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 300, .aio_lio_opcode = LIO_WRITE};
    struct aiocb r = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 400, .aio_lio_opcode = LIO_READ};
    struct aiocb nothing = {.aio_fildes = fd, .aio_lio_opcode = LIO_NOP};
    struct aiocb *list[4] = {&w, NULL, &r, &nothing};
    struct aiocb64 r64 = {.aio_fildes = fd, .aio_buf = buf, .aio_nbytes = 500, .aio_lio_opcode = LIO_READ};
    struct aiocb64 *list64[1] = {&r64};

    DO(aio_write, 0, 0, aio_write(&a), 0);
    finish(&a, 1000, 0);
    DO(aio_write, 0, 0, aio_write64(&b), 0);
    finish64(&b, 2000, 0);
    DO(aio_read, 0, 0, aio_read(&a), 0);
    finish(&a, 0, 1000);
    DO(aio_read, 0, 0, aio_read64(&b), 0);
    finish64(&b, 0, 2000);
    DO(aio_fsync, 0, 0, aio_fsync(O_SYNC, &a), 0);
    finish(&a, 0, 0);
    DO(aio_fsync, 0, 0, aio_fsync64(O_DSYNC, &b), 0);
    finish64(&b, 0, 0);
    DO(lio_listio, 0, 0, lio_listio(LIO_WAIT, list, 4, NULL), 0);
    finish(&w, 300, 0);
    finish(&r, 0, 400);
    DO(lio_listio, 0, 0, lio_listio64(LIO_NOWAIT, list64, 1, NULL), 0);
    finish64(&r64, 0, 500);
    GET(aio_cancel, aio_cancel(fd, NULL));
    GET(aio_cancel, aio_cancel64(fd, NULL));
    a.aio_fildes = -1;
    DO(aio_read, 0, 0, aio_read(&a), 0);
    MUST(aio_error(&a) != 0); /* a request that fails moves nothing */
    const struct aiocb *failed[1] = {&a};
    aio_suspend(failed, 1, NULL);
    CALLED(aio_suspend, 0, 0);
    const struct aiocb64 *failed64[1] = {&b};
    aio_suspend64(failed64, 1, NULL);
    CALLED(aio_suspend, 0, 0);
    DO(aio_return, 0, 0, aio_return(&a), -1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    memset(buf, 'x', sizeof buf);
    int fd = (int)GET(creat, open("made", O_CREAT | O_RDWR, 0600));
    DO(write, 8192, 0, write(fd, buf, sizeof buf), 8192);
    no_files();
    controls(fd);
    maps(fd);
    memory_to_pipe();
    asynchronous(fd);
    close_it(fd);
    expect_report();
    return 0;
}
