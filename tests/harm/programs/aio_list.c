/* Asynchronous requests whose memory goes as soon as each is done, while lio_listio may still run. */
#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 40, REQUESTS = 64, SIZE = 4096 };

static char byte;
static int done, moved;

static void on_done(union sigval value)
{
    struct aiocb *request = value.sival_ptr;
    __atomic_fetch_add(&moved, (int)aio_return(request), __ATOMIC_SEQ_CST);
    munmap(request, SIZE);
    __atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
}

static struct aiocb *make_request(int fd)
{
    struct aiocb *request = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    request->aio_fildes = fd;
    request->aio_buf = &byte;
    request->aio_nbytes = 1;
    request->aio_lio_opcode = LIO_READ;
    request->aio_sigevent.sigev_notify = SIGEV_THREAD;
    request->aio_sigevent.sigev_notify_function = on_done;
    request->aio_sigevent.sigev_value.sival_ptr = request;
    return request;
}

int main(void)
{
    int fd = open("/dev/zero", O_RDONLY);
    for (int round = 1; round <= ROUNDS; round++) {
        struct aiocb *list[REQUESTS];
        for (int i = 0; i < REQUESTS; i++)
            list[i] = make_request(fd);
        if (lio_listio(LIO_NOWAIT, list, REQUESTS, NULL) != 0)
            return 1;
        while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < round * REQUESTS)
            usleep(100);
    }
    printf("%d bytes\n", moved);
    return 0;
}
