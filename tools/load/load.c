#include "load.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "folders.h"
#include "options.h"
#include "report.h"
#include "schedule.h"
#include "stop.h"

enum { SECOND_NS = 1000000000 };

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

/* In the order of what wins where ranks have to agree. */
enum step { WORK, REST, STOP_TIME, STOP_VOLUME, STOP_SIGNAL, STOP_ERROR };

static const char *const why[] = {
    [STOP_TIME] = "time", [STOP_VOLUME] = "volume", [STOP_SIGNAL] = "stopped", [STOP_ERROR] = "error"};

/* What comes next, by this rank alone. */
static enum step own_step(const struct load_run *run, const struct load_schedule *schedule, uint64_t done, int failed)
{
    const int64_t now = load_now_ns();
    return failed                                               ? STOP_ERROR
           : load_stop_asked()                                  ? STOP_SIGNAL
           : run->options.volume && done >= run->options.volume ? STOP_VOLUME
           : now >= schedule->end_ns                            ? STOP_TIME
           : load_schedule_silent(schedule, now)                ? REST
                                                                : WORK;
}

/* What comes next. Ranks that meet agree on it, on what the most determined of them wants: whenever each has done its
   share, or at once if one has to stop, which then ends all. In between each rests by its own clock. */
static enum step next_step(const struct load_run *run, const struct load_schedule *schedule, uint64_t done, int failed,
                           uint64_t works)
{
    int step = (int)own_step(run, schedule, done, failed);
    if (run->options.meet && (step > REST || works % run->options.meet == 0))
        MPI_Allreduce(MPI_IN_PLACE, &step, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return (enum step)step;
}

/* Work and rest until something ends it. */
static enum step work(struct load_run *run, const struct load_program *program, struct load_report *report)
{
    struct load_schedule schedule = {.options = &run->options,
                                     .end_ns = report->start_ns + (int64_t)(run->options.seconds * SECOND_NS)};
    uint64_t done = 0, works = 0;
    int failed = 0;
    enum step step;
    while ((step = next_step(run, &schedule, done, failed, works)) <= REST) {
        load_report_phase(report, step == WORK);
        if (step == REST) {
            load_schedule_rest(&schedule);
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
        works++;
        load_schedule_pause(&schedule, to - from);
    }
    load_report_phase(report, 0);
    return step;
}

/* Make what the run needs; 0 on all ranks if one can't, and says why. */
static int prepare(struct load_run *run, const struct load_program *program, struct load_report *report)
{
    const char *wrong = NULL;
    if (program->has_files && !load_folders_make(run))
        wrong = "cannot make a directory: choose another one with --dir";
    if (!wrong)
        wrong = load_report_begin(report, &run->options) ? program->begin(run) : "not enough memory";
    int fine = !wrong, first = wrong ? run->rank : run->ranks;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (wrong && first == run->rank) /* one line, not one a rank */
        fprintf(stderr, "%s: rank %d: %s\n", program->name, run->rank, wrong);
    MPI_Allreduce(MPI_IN_PLACE, &fine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return fine;
}

/* The part between MPI_Init and MPI_Finalize; the exit code. */
static int perform(struct load_run *run, const struct load_program *program)
{
    struct load_report report = {0};
    int fine = prepare(run, program, &report);
    int last = STOP_ERROR;
    if (fine) {
        report.start_ns = load_now_ns();
        MPI_Bcast(&report.start_ns, 1, MPI_INT64_T, 0, MPI_COMM_WORLD); /* seconds are the same for all ranks */
        last = (int)work(run, program, &report);
    }
    if (program->end)
        program->end(run);
    report.end_ns = load_now_ns();
    load_folders_remove_own(run); /* before anything that waits for other ranks: they may be gone */
    load_stop_meet();
    load_folders_remove_common(run); /* before the report: nobody may be left to read it, and SIGPIPE ends us */
    if (fine) {
        MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (!load_report_print(&report, program, run, why[last]))
            last = STOP_ERROR;
    }
    load_report_end(&report);
    return last == STOP_ERROR;
}

int load_main(int argc, char **argv, const struct load_program *program)
{
    struct load_run run = {0};
    load_stop_begin();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.ranks);
    const enum load_parsed parsed = load_parse(argc, argv, program, &run.options, run.rank == 0);
    int code = parsed == LOAD_HELPED ? 0 : 2;
    if (parsed == LOAD_GO) {
        load_stop_watch(run.options.seconds);
        run.random = run.options.seed * 1000003 + (uint64_t)run.rank;
        code = perform(&run, program);
    }
    MPI_Finalize();
    return code;
}
