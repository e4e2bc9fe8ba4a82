#include "load.h"

#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "folders.h"
#include "options.h"
#include "report.h"

enum { SECOND_NS = 1000000000, LONGEST_SLEEP_NS = 50000000 };

static volatile sig_atomic_t interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

int64_t load_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* S. Vigna, splitmix64. */
uint64_t load_random(struct load_run *run)
{
    uint64_t z = run->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void *load_buffer(struct load_run *run, size_t size)
{
    void *buffer;
    const size_t pages = (size + 4095) / 4096 * 4096;
    errno = posix_memalign(&buffer, 4096, pages ? pages : 4096);
    if (errno)
        return NULL;
    for (size_t i = 0; i < pages / sizeof(uint64_t); i++)
        ((uint64_t *)buffer)[i] = load_random(run);
    return buffer;
}

static void sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    const struct timespec t = {ns / SECOND_NS, ns % SECOND_NS};
    nanosleep(&t, NULL);
}

/* How long the silent phase lasts yet, 0 in an active one. Periods begin at multiples of their length in UTC, so that
   programs on several nodes work at the same time. */
static int64_t silent_for(const struct load_options *options, int64_t now_ns)
{
    const int64_t active = (int64_t)(options->active * SECOND_NS), silent = (int64_t)(options->silent * SECOND_NS);
    if (!silent)
        return 0;
    const int64_t at = now_ns % (active + silent);
    return at < active ? 0 : active + silent - at;
}

enum step { WORK, REST, STOP_TIME, STOP_SIGNAL, STOP_VOLUME, STOP_ERROR };

static const char *why(enum step step)
{
    return step == STOP_TIME ? "time" : step == STOP_SIGNAL ? "signal" : step == STOP_VOLUME ? "volume" : "error";
}

/* What comes next, by this rank's clock; of a program whose ranks meet, what the most determined of them wants. */
static enum step next_step(const struct load_run *run, const struct load_program *program, int64_t end_ns,
                           uint64_t done, int failed)
{
    const int64_t now = load_now_ns();
    int step = failed                                               ? STOP_ERROR
               : interrupted                                        ? STOP_SIGNAL
               : now >= end_ns                                      ? STOP_TIME
               : run->options.volume && done >= run->options.volume ? STOP_VOLUME
               : silent_for(&run->options, now)                     ? REST
                                                                    : WORK;
    if (program->meets)
        MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return (enum step)step;
}

static void rest(const struct load_run *run, int64_t end_ns)
{
    const int64_t now = load_now_ns();
    int64_t left = silent_for(&run->options, now);
    left = left < end_ns - now ? left : end_ns - now;
    sleep_ns(left < LONGEST_SLEEP_NS ? left : LONGEST_SLEEP_NS); /* a signal is answered soon */
}

/* Work and rest until something ends it. */
static enum step work(struct load_run *run, const struct load_program *program, struct load_report *report)
{
    const int64_t end_ns = report->start_ns + (int64_t)(run->options.seconds * SECOND_NS);
    uint64_t done = 0;
    int failed = 0;
    enum step step;
    while ((step = next_step(run, program, end_ns, done, failed)) <= REST) {
        load_report_phase(report, step == WORK);
        if (step == REST) {
            rest(run, end_ns);
            continue;
        }
        const int64_t from = load_now_ns();
        const uint64_t amount = program->work(run);
        const int64_t to = load_now_ns();
        failed = amount == LOAD_FAILED;
        if (failed)
            fprintf(stderr, "%s: rank %d: %s\n", program->name, run->rank, strerror(errno));
        else
            load_report_add(report, from, to, amount);
        done += failed ? 0 : amount;
        sleep_ns((int64_t)((double)(to - from) * (1 / run->options.intensity - 1)));
    }
    return step;
}

/* The part between MPI_Init and MPI_Finalize; the exit code. */
static int perform(struct load_run *run, const struct load_program *program)
{
    struct load_report report = {0};
    const char *wrong = NULL;
    if (program->has_files && !load_folders_make(run))
        wrong = "cannot make a directory: choose another one with --dir";
    if (!wrong)
        wrong = load_report_begin(&report, &run->options) ? program->begin(run) : "not enough memory";
    if (wrong && run->rank == 0)
        fprintf(stderr, "%s: %s\n", program->name, wrong);
    int fine = !wrong, all;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all) {
        report.start_ns = load_now_ns();
        MPI_Bcast(&report.start_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD); /* seconds are the same for all ranks */
        int last = (int)work(run, program, &report), worst;
        program->end(run);
        MPI_Allreduce(&last, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        load_report_print(&report, program, run, why((enum step)worst));
        all = worst != STOP_ERROR;
    }
    if (program->has_files)
        load_folders_remove(run);
    load_report_end(&report);
    return all ? 0 : 1;
}

int load_main(int argc, char **argv, const struct load_program *program)
{
    struct load_run run = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    const enum load_parsed parsed = load_parse(argc, argv, program, &run.options, run.rank == 0);
    int code = parsed == LOAD_HELPED ? 0 : 2;
    if (parsed == LOAD_GO) {
        watch_signals();
        run.random = run.options.seed * 1000003 + (uint64_t)run.rank;
        code = perform(&run, program);
    }
    MPI_Finalize();
    return code;
}
