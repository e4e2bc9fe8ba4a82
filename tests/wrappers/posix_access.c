/*
 * Known access patterns: each case says, next to doing it, in which steps its requests follow one another and how large
 * they are. Prints `steps WAY FIRST NEXT BACK AHEAD STRIDED` and `sizes WAY BUCKET REQUESTS` by raw system calls, which
 * nobody counts.
 *
 *     posix_access DIRECTORY [NAME]    all cases, in files of the directory; or only the case NAME
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum way { PR, PW, SR, SW, WAYS }; /* posix and stdio, read and write */
enum step { FIRST, NEXT, BACK, AHEAD, STEPS };

static const char *const way_names[] = {"posix_read", "posix_write", "stdio_read", "stdio_write"};
static unsigned long steps[WAYS][STEPS], strided[WAYS], sizes[WAYS][32];
static char data[1 << 16];

static void fail(int line)
{
    char text[64];
    snprintf(text, sizeof text, "FAILED: line %d\n", line);
    syscall(SYS_write, 1, text, strlen(text));
    syscall(SYS_exit_group, 99);
}
#define MUST(condition) ((condition) ? (void)0 : fail(__LINE__))

static void size_of(enum way way, unsigned long bytes)
{
    unsigned bucket = 0;
    for (unsigned long limit = 1; bytes >= limit; limit *= 2)
        bucket++;
    sizes[way][bucket]++;
}

static void said(enum way way, enum step step, unsigned long bytes)
{
    steps[way][step]++;
    size_of(way, bytes);
}

static void said_strided(enum way way, enum step step, unsigned long bytes)
{
    said(way, step, bytes);
    strided[way]++;
}

static int make(const char *name) { return open(name, O_RDWR | O_CREAT | O_TRUNC, 0600); }

static void open_write_close(void)
{
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "owc%d", i);
        int fd = make(name);
        MUST(write(fd, data, 4096) == 4096);
        said(PW, FIRST, 4096);
        close(fd);
    }
    for (int i = 0; i < 7; i++) {
        char name[16];
        snprintf(name, sizeof name, "owc%d", i);
        int fd = open(name, O_RDONLY);
        MUST(read(fd, data, sizeof data) == 4096);
        said(PR, FIRST, 4096);
        MUST(read(fd, data, sizeof data) == 0); /* at the end: a request of no bytes, and no step */
        size_of(PR, 0);
        close(fd);
    }
}

static void write_seek(void)
{
    int fd = make("ws");
    for (int i = 0; i < 9; i++) {
        MUST(lseek(fd, 0, SEEK_SET) == 0);
        MUST(write(fd, data, 1000) == 1000);
        said(PW, i ? BACK : FIRST, 1000);
        MUST(lseek(fd, 0, SEEK_SET) == 0);
        MUST(read(fd, data, 1000) == 1000);
        said(PR, i ? BACK : FIRST, 1000);
    }
    close(fd);
}

static void aggregate_write(void)
{
    int fd = make("aw");
    struct iovec two[] = {{data, 100}, {data, 28}};
    for (int i = 0; i < 10; i++) {
        MUST(write(fd, data, 512) == 512);
        said(PW, i ? NEXT : FIRST, 512);
    }
    MUST(writev(fd, two, 2) == 128);
    said(PW, NEXT, 128);
    MUST(pwrite(fd, data, 64, 5248) == 64); /* where the last one ended; moves no position */
    said(PW, NEXT, 64);
    MUST(pwrite(fd, data, 64, 5312) == 64);
    said(PW, NEXT, 64);
    MUST(write(fd, data, 10) == 10); /* at 5248 */
    said(PW, BACK, 10);
    MUST(lseek(fd, 0, SEEK_SET) == 0);
    for (int i = 0; i < 10; i++) {
        MUST(read(fd, data, 512) == 512);
        said(PR, i ? NEXT : FIRST, 512);
    }
    close(fd);
}

static void strides(void)
{
    int fd = make("strided");
    for (int i = 0; i < 6; i++) {
        MUST(pwrite(fd, data, 16, 1000 * i) == 16);
        i > 1 ? said_strided(PW, AHEAD, 16) : said(PW, i ? AHEAD : FIRST, 16);
    }
    for (int i = 5; i >= 0; i--) {
        MUST(pread(fd, data, 16, 1000 * i) == 16);
        i < 4 ? said_strided(PR, BACK, 16) : said(PR, i < 5 ? BACK : FIRST, 16);
    }
    static const long at[] = {3000, 1000, 4000, 2000}; /* from 0, each jump of another length */
    for (int i = 0; i < 4; i++) {
        MUST(lseek(fd, at[i], SEEK_SET) == at[i]);
        MUST(read(fd, data, 16) == 16);
        said(PR, i % 2 ? BACK : AHEAD, 16);
    }
    close(fd);
}

static void duplicate(void)
{
    int fd = make("dup"), other = dup(fd);
    MUST(write(fd, data, 300) == 300);
    said(PW, FIRST, 300);
    MUST(write(other, data, 300) == 300); /* a descriptor of its own */
    said(PW, FIRST, 300);
    MUST(write(other, data, 300) == 300);
    said(PW, NEXT, 300);
    close(other);
    close(fd);
}

static void append(void)
{
    int fd = open("append", O_RDWR | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 4; i++) {
        MUST(lseek(fd, 0, SEEK_SET) == 0); /* the kernel writes at the end all the same */
        MUST(write(fd, data, 20) == 20);
        said(PW, i ? NEXT : FIRST, 20);
    }
    close(fd);
}

static void failures(void)
{
    int fd = open("ws", O_RDONLY);
    MUST(write(fd, data, 5) == -1);
    size_of(PW, 0);
    MUST(lseek(fd, -1, SEEK_SET) == -1);
    MUST(read(fd, data, 500) == 500);
    said(PR, FIRST, 500);
    MUST(read(fd, data, 500) == 500);
    said(PR, NEXT, 500);
    close(fd);
}

static void from_one_to_another(void)
{
    int in = open("aw", O_RDONLY), out = make("copy");
    loff_t from = 1024, to = 4000;
    MUST(sendfile(out, in, NULL, 256) == 256);
    said(PW, FIRST, 256);
    said(PR, FIRST, 256);
    off_t offset = 256;
    MUST(sendfile(out, in, &offset, 256) == 256);
    said(PW, NEXT, 256);
    said(PR, NEXT, 256);
    MUST(copy_file_range(in, &from, out, &to, 64, 0) == 64);
    said(PW, AHEAD, 64);
    said(PR, AHEAD, 64);
    close(in);
    close(out);
}

static void streams(void)
{
    FILE *f = fopen("stream", "w+");
    for (int i = 0; i < 5; i++) {
        MUST(fwrite(data, 10, 3, f) == 3);
        said(SW, i ? NEXT : FIRST, 30);
    }
    for (int i = 0; i < 3; i++) {
        rewind(f);
        MUST(fwrite(data, 1, 8, f) == 8);
        said(SW, BACK, 8);
    }
    MUST(fseek(f, 40, SEEK_CUR) == 0); /* from 8 to 48 */
    MUST(fwrite(data, 1, 8, f) == 8);
    said(SW, AHEAD, 8);
    MUST(fseek(f, 0, SEEK_END) == 0);
    MUST(fwrite(data, 1, 8, f) == 8);
    said(SW, AHEAD, 8);
    MUST(fseeko(f, 0, SEEK_END) == 0);
    MUST(ftello(f) == 158); /* now the position is known again */
    MUST(fseek(f, -158, SEEK_CUR) == 0);
    for (int i = 0; i < 4; i++) {
        MUST(fread(data, 1, 5, f) == 5);
        said(SR, i ? NEXT : FIRST, 5);
    }
    fpos_t here;
    MUST(fgetpos(f, &here) == 0);
    MUST(fread(data, 1, 5, f) == 5);
    said(SR, NEXT, 5);
    MUST(fsetpos(f, &here) == 0);
    MUST(fread(data, 1, 5, f) == 5);
    said(SR, BACK, 5);
    fclose(f);
    f = fopen("stream", "a");
    for (int i = 0; i < 3; i++) {
        MUST(fseek(f, 0, SEEK_SET) == 0);
        MUST(fwrite(data, 1, 2, f) == 2);
        said(SW, i ? NEXT : FIRST, 2);
    }
    fclose(f);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"open_write_close", open_write_close},
    {"write_seek", write_seek},
    {"aggregate_write", aggregate_write},
    {"strides", strides},
    {"duplicate", duplicate},
    {"append", append},
    {"failures", failures},
    {"from_one_to_another", from_one_to_another},
    {"streams", streams},
};

static void report(void)
{
    char text[128];
    for (int way = 0; way < WAYS; way++) {
        snprintf(text, sizeof text, "steps %s %lu %lu %lu %lu %lu\n", way_names[way], steps[way][FIRST],
                 steps[way][NEXT], steps[way][BACK], steps[way][AHEAD], strided[way]);
        syscall(SYS_write, 1, text, strlen(text));
        for (int bucket = 0; bucket < 32; bucket++) {
            if (!sizes[way][bucket])
                continue;
            snprintf(text, sizeof text, "sizes %s %d %lu\n", way_names[way], bucket, sizes[way][bucket]);
            syscall(SYS_write, 1, text, strlen(text));
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || chdir(argv[1]) != 0)
        return 2;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 3 || strcmp(argv[2], cases[i].name) == 0)
            cases[i].run();
    report();
    return 0;
}
