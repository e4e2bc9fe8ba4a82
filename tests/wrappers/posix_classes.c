/*
 * One descriptor number, many files: the class must follow the descriptor through every way of opening and closing.
 * Each class gets its own number of bytes.
 *
 *     posix_classes DISK_FILE MEMORY_FILE
 *
 * Prints `class bytes` a line.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "posix_expect.h"

static unsigned long written[4];
static const char *const names[4] = {"disk", "mem", "pipe", "other"};
enum { DISK, MEM, PIPE, OTHER };

static char buf[1024];

static void put(int fd, int class, size_t n)
{
    MUST(write(fd, buf, n) == (ssize_t)n);
    written[class] += n;
}

int main(int argc, char **argv)
{
    int ends[2];
    char text[64];
    if (argc != 3)
        return 2;
    int disk = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    int memory = open(argv[2], O_CREAT | O_WRONLY | O_TRUNC, 0600);
    int null = open("/dev/null", O_WRONLY);
    MUST(disk >= 0 && memory >= 0 && null >= 0 && pipe(ends) == 0);

    int fd = dup(disk);
    put(fd, DISK, 1);
    dup2(memory, fd);
    put(fd, MEM, 2);
    dup3(ends[1], fd, 0);
    put(fd, PIPE, 4);
    close(fd);
    MUST(fcntl(null, F_DUPFD, fd) == fd);
    put(fd, OTHER, 8);
    close_range((unsigned)fd, (unsigned)fd, 0);
    MUST(open(argv[1], O_WRONLY) == fd);
    put(fd, DISK, 16);
    FILE *f = fdopen(fd, "w");
    fclose(f);
    MUST(creat(argv[2], 0600) == fd);
    put(fd, MEM, 32);
    closefrom(fd);
    f = fopen(argv[1], "a");
    MUST(fileno(f) == fd);
    put(fd, DISK, 64);
    f = freopen(argv[2], "a", f);
    put(fileno(f), MEM, 128);
    dup2(null, 1000); /* a high number */
    put(1000, OTHER, 256);
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "%s %lu\n", names[i], written[i]);
        raw_print(text);
    }
    return 0;
}
