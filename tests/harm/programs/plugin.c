/* A library that is loaded and unloaded again and again, with I/O in its constructor, its destructor and its thread. */
#include <fcntl.h>
#include <unistd.h>

static __thread char line[64];

static void note(const char *text, size_t length)
{
    int fd = open("notes", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(fd, text, length) == (ssize_t)length)
        close(fd);
}

__attribute__((constructor)) static void loaded(void) { note("loaded\n", 7); }
__attribute__((destructor)) static void unloaded(void) { note("unloaded\n", 9); }

long plugin_read(const char *path)
{
    int fd = open(path, O_RDONLY);
    long n = read(fd, line, sizeof line);
    close(fd);
    return n;
}
