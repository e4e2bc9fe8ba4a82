/*
 * Every function of the system-call layer that moves bytes, under every name, with known amounts.
 *
 *     posix_transfers DIRECTORY
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "posix_expect.h"

/* Names that no header declares. */
ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
ssize_t __pread64(int, void *, size_t, off_t);
ssize_t __pwrite64(int, const void *, size_t, off_t);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
ssize_t __send(int, const void *, size_t, int);
int __pipe(int fds[2]);
int __connect(int, const struct sockaddr *, socklen_t);

static char buf[4096];

static void write_forms(int fd)
{
    struct iovec two[2] = {{buf, 30}, {buf + 100, 12}};
    DO(write, 100, 0, write(fd, buf, 100), 100);
    DO(write, 10, 0, __write(fd, buf, 10), 10);
    DO(pwrite, 7, 0, pwrite(fd, buf, 7, 200), 7);
    DO(pwrite, 8, 0, pwrite64(fd, buf, 8, 210), 8);
    DO(pwrite, 9, 0, __pwrite64(fd, buf, 9, 220), 9);
    DO(writev, 42, 0, writev(fd, two, 2), 42);
    DO(pwritev, 42, 0, pwritev(fd, two, 2, 300), 42);
    DO(pwritev, 30, 0, pwritev64(fd, two, 1, 400), 30);
    DO(pwritev2, 42, 0, pwritev2(fd, two, 2, 500, 0), 42);
    DO(pwritev2, 42, 0, pwritev64v2(fd, two, 2, 1000, 0), 42);
    DO(write, 0, 0, write(-1, buf, 10), -1); /* a call that fails moves nothing */
    DO(write, 0, 0, write(fd, buf, 0), 0);
}

static void read_forms(int fd)
{
    struct iovec two[2] = {{buf, 30}, {buf + 100, 12}};
    DO(pread, 0, 10, pread(fd, buf, 10, 0), 10);
    DO(pread, 0, 11, pread64(fd, buf, 11, 0), 11);
    DO(pread, 0, 12, __pread64(fd, buf, 12, 0), 12);
    DO(pread, 0, 13, __pread_chk(fd, buf, 13, 0, sizeof buf), 13);
    DO(pread, 0, 14, __pread64_chk(fd, buf, 14, 0, sizeof buf), 14);
    DO(preadv, 0, 42, preadv(fd, two, 2, 0), 42);
    DO(preadv, 0, 30, preadv64(fd, two, 1, 0), 30);
    DO(preadv2, 0, 42, preadv2(fd, two, 2, 0, 0), 42);
    DO(preadv2, 0, 42, preadv64v2(fd, two, 2, 0, 0), 42);
    GET(lseek, lseek(fd, 0, SEEK_SET));
    DO(read, 0, 20, read(fd, buf, 20), 20);
    DO(read, 0, 21, __read(fd, buf, 21), 21);
    DO(read, 0, 22, __read_chk(fd, buf, 22, sizeof buf), 22);
    DO(readv, 0, 42, readv(fd, two, 2), 42);
    GET(lseek, lseek64(fd, 0, SEEK_END));
    DO(read, 0, 0, read(fd, buf, 20), 0); /* the end of the file */
}

static void from_one_to_another(int from, int to)
{
    int ends[2];
    off_t at = 0, to_at = 0;
    DO(sendfile, 50, 50, sendfile(to, from, &at, 50), 50);
    at = 0;
    DO(sendfile, 60, 60, sendfile64(to, from, &at, 60), 60);
    at = 0;
    DO(copy_file_range, 70, 70, copy_file_range(from, &at, to, &to_at, 70, 0), 70);
    GET(pipe, __pipe(ends));
    at = 0;
    DO(splice, 80, 80, splice(from, &at, ends[1], NULL, 80, 0), 80);
    DO(close, 0, 0, close(ends[0]), 0);
    DO(close, 0, 0, close(ends[1]), 0);
}

static void pipes_and_sockets(void)
{
    int ends[2];
    struct iovec one = {buf, 40};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
    struct mmsghdr messages[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    GET(pipe2, pipe2(ends, 0));
    DO(write, 33, 0, write(ends[1], buf, 33), 33);
    DO(read, 0, 33, read(ends[0], buf, 100), 33);
    DO(close, 0, 0, close(ends[0]), 0);
    DO(close, 0, 0, close(ends[1]), 0);

    GET(socketpair, socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    DO(send, 5, 0, send(ends[0], buf, 5, 0), 5);
    DO(send, 6, 0, __send(ends[0], buf, 6, 0), 6);
    DO(sendto, 7, 0, sendto(ends[0], buf, 7, 0, NULL, 0), 7);
    DO(sendmsg, 40, 0, sendmsg(ends[0], &message, 0), 40);
    DO(sendmmsg, 80, 0, sendmmsg(ends[0], messages, 2, 0), 2);
    DO(recv, 0, 5, recv(ends[1], buf, 100, 0), 5);
    DO(recv, 0, 6, __recv_chk(ends[1], buf, 100, sizeof buf, 0), 6);
    DO(recvfrom, 0, 7, recvfrom(ends[1], buf, 100, 0, NULL, NULL), 7);
    DO(recvmsg, 0, 40, recvmsg(ends[1], &message, 0), 40);
    DO(recvmmsg, 0, 80, recvmmsg(ends[1], messages, 2, 0, NULL), 2);
    DO(send, 3, 0, send(ends[0], buf, 3, 0), 3);
    DO(recvfrom, 0, 3, __recvfrom_chk(ends[1], buf, 100, sizeof buf, 0, NULL, NULL), 3);
    DO(recv, 0, 0, recv(ends[1], buf, 100, MSG_DONTWAIT), -1);
    DO(close, 0, 0, close(ends[0]), 0);
    DO(close, 0, 0, close(ends[1]), 0);
}

static void connections(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    const socklen_t size = sizeof address;
    int listening = (int)GET(socket, socket(AF_UNIX, SOCK_STREAM, 0));
    MUST(bind(listening, (struct sockaddr *)&address, size) == 0 && listen(listening, 4) == 0);
    for (int i = 0; i < 2; i++) {
        int client = (int)GET(socket, socket(AF_UNIX, SOCK_STREAM, 0));
        if (i)
            DO(connect, 0, 0, connect(client, (struct sockaddr *)&address, size), 0);
        else
            DO(connect, 0, 0, __connect(client, (struct sockaddr *)&address, size), 0);
        int server =
            (int)(i ? GET(accept, accept(listening, NULL, NULL)) : GET(accept4, accept4(listening, NULL, NULL, 0)));
        DO(write, 9, 0, write(client, buf, 9), 9);
        DO(read, 0, 9, read(server, buf, 100), 9);
        DO(close, 0, 0, close(client), 0);
        DO(close, 0, 0, close(server), 0);
    }
    DO(close, 0, 0, close(listening), 0);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    DO(chdir, 0, 0, chdir(argv[1]), 0);
    memset(buf, 'x', sizeof buf);
    int from = (int)GET(creat, open("from", O_CREAT | O_RDWR, 0600));
    int to = (int)GET(creat, open("to", O_CREAT | O_RDWR, 0600));
    write_forms(from);
    read_forms(from);
    from_one_to_another(from, to);
    DO(close, 0, 0, close(from), 0);
    DO(close, 0, 0, close(to), 0);
    pipes_and_sockets();
    connections();
    expect_report();
    return 0;
}
