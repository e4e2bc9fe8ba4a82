/*
 * A preload library as a user may have one, and (-DPROGRAM) a program under it. The library counts each program's
 * calls of write and getenv and adds a line to the file $COUNTS when it ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PROGRAM
int main(void)
{
    int good = 0;
    for (int i = 0; i < 7; i++)
        good += getenv("COUNTS") != NULL;
    for (int i = 0; i < 5; i++)
        good += write(1, "written\n", 8) == 8;
    return good;
}
#else
static int writes, looks;

ssize_t write(int fd, const void *buffer, size_t n)
{
    ssize_t (*next)(int, const void *, size_t) = (__typeof__(next))dlsym(RTLD_NEXT, "write");
    writes++;
    return next(fd, buffer, n);
}

char *getenv(const char *name)
{
    char *(*next)(const char *) = (__typeof__(next))dlsym(RTLD_NEXT, "getenv");
    looks++;
    return next(name);
}

__attribute__((destructor)) static void say(void)
{
    char *(*next)(const char *) = (__typeof__(next))dlsym(RTLD_NEXT, "getenv");
    FILE *file = fopen(next("COUNTS"), "a");
    fprintf(file, "%s %d %d\n", program_invocation_short_name, writes, looks);
    fclose(file);
}
#endif
