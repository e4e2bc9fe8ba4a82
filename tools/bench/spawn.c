/*
 * Start a program many times, with one preload library after the other in turn, and print for each run
 *     VARIANT WALL_NS CPU_US MAXRSS_KIB EXIT
 * VARIANT counts the preload arguments from 0. Linked statically: until exec a child shares this program's memory, and
 * the kernel counts that into the child's peak.
 *
 *     spawn ROUNDS PRELOAD... -- COMMAND ARGUMENT...        PRELOAD "" is the bare program
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_VARIANTS = 16, MAX_ENVIRONMENT = 1024 };
extern char **environ;

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Our environment with LD_PRELOAD set to `preload`, or without one. */
static void set_environment(char **out, const char *preload, char *setting, size_t size)
{
    int n = 0;
    for (char **e = environ; *e && n < MAX_ENVIRONMENT - 2; e++)
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
            out[n++] = *e;
    if (*preload) {
        snprintf(setting, size, "LD_PRELOAD=%s", preload);
        out[n++] = setting;
    }
    out[n] = NULL;
}

static int run_once(int variant, const char *preload, char **command)
{
    static char *environment[MAX_ENVIRONMENT];
    static char setting[4096];
    struct rusage usage;
    pid_t child;
    int status;
    set_environment(environment, preload, setting, sizeof setting);
    long long begin = now_ns();
    int error = posix_spawnp(&child, command[0], NULL, NULL, command, environment);
    if (error) {
        fprintf(stderr, "spawn: %s: %s\n", command[0], strerror(error));
        return 1;
    }
    wait4(child, &status, 0, &usage);
    long long wall = now_ns() - begin;
    long cpu =
        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000l + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    printf("%d %lld %ld %ld %d\n", variant, wall, cpu, usage.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return 0;
}

int main(int argc, char **argv)
{
    const char *preload[MAX_VARIANTS];
    int n = 0, at = 2, rounds = argc > 1 ? atoi(argv[1]) : 0;
    while (at < argc && strcmp(argv[at], "--") != 0 && n < MAX_VARIANTS)
        preload[n++] = argv[at++];
    if (rounds < 1 || n < 1 || at + 1 >= argc || strcmp(argv[at], "--") != 0) {
        fprintf(stderr, "usage: %s ROUNDS PRELOAD... -- COMMAND ARGUMENT...\n", argv[0]);
        return 2;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++) {
            int variant = (i + round) % n; /* each variant follows each other one equally often */
            if (run_once(variant, preload[variant], argv + at + 1))
                return 1;
        }
    return 0;
}
