#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_NS = 1000000000, SPARE_SECONDS = 120 };

int load_report_begin(struct load_report *report, const struct load_options *options)
{
    const double period = options->active + options->silent;
    report->n_seconds = (uint32_t)ceil(options->seconds) + SPARE_SECONDS;
    report->room = period > 0 ? (uint32_t)(options->seconds / period) + 3 : 2;
    report->per_second = calloc(report->n_seconds, sizeof *report->per_second);
    report->phases = calloc(report->room, sizeof *report->phases);
    report->start_ns = load_now_ns();
    return report->per_second && report->phases;
}

void load_report_phase(struct load_report *report, int active)
{
    if (report->active == active || report->n_phases >= report->room)
        return;
    report->active = active;
    report->phases[report->n_phases][active ? 0 : 1] = load_now_ns();
    report->n_phases += !active;
}

void load_report_add(struct load_report *report, int64_t from_ns, int64_t to_ns, uint64_t amount)
{
    const int64_t last = report->n_seconds - 1;
    int64_t first = (from_ns - report->start_ns) / SECOND_NS, behind = (to_ns - report->start_ns) / SECOND_NS;
    first = first < 0 ? 0 : first > last ? last : first;
    behind = behind < first ? first : behind > last ? last : behind;
    uint64_t left = amount;
    report->busy_ns += to_ns - from_ns;
    for (int64_t second = first; second < behind; second++) {
        const int64_t end_ns = report->start_ns + (second + 1) * SECOND_NS;
        const int64_t begin_ns = second == first ? from_ns : end_ns - SECOND_NS;
        uint64_t part = (uint64_t)((double)amount * (double)(end_ns - begin_ns) / (double)(to_ns - from_ns));
        part = part > left ? left : part;
        report->per_second[second] += part;
        left -= part;
    }
    report->per_second[behind] += left;
}

static void print_phases(const struct load_report *report)
{
    for (uint32_t i = 0; i < report->n_phases; i++)
        printf("%s[%" PRId64 ", %" PRId64 "]", i ? ", " : "", report->phases[i][0], report->phases[i][1]);
}

static void print_counts(const struct load_program *program, const uint64_t *counts)
{
    for (int i = 0; program->counts && program->counts[i]; i++)
        printf("%s\"%s\": %" PRIu64, i ? ", " : "", program->counts[i], counts[i]);
}

static void print_seconds(const struct load_report *report, const uint64_t *sums, int64_t end_ns)
{
    const uint32_t lasted = (uint32_t)((end_ns - report->start_ns + SECOND_NS - 1) / SECOND_NS);
    for (uint32_t i = 0; i < lasted && i < report->n_seconds; i++)
        printf("%s%" PRIu64, i ? ", " : "", sums[i]);
}

static int print(const struct load_report *report, const struct load_program *program, const struct load_run *run,
                 const uint64_t *sums, const uint64_t *counts, int64_t busy_ns, int64_t end_ns, const char *ended)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < report->n_seconds; i++)
        total += sums[i];
    printf("{\"program\": \"%s\", \"ranks\": %d, \"seed\": %" PRIu64 ", \"start_ns\": %" PRId64 ", \"end_ns\": %" PRId64
           ", \"ended\": \"%s\", \"unit\": \"%s\", \"total\": %" PRIu64 ", \"busy_ns\": %" PRId64 ", \"counts\": {",
           program->name, run->ranks, run->options.seed, report->start_ns, end_ns, ended, program->unit, total,
           busy_ns);
    print_counts(program, counts);
    printf("}, \"active_ns\": [");
    print_phases(report);
    printf("], \"per_second\": [");
    print_seconds(report, sums, end_ns);
    printf("]}\n");
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 1;
    fprintf(stderr, "%s: cannot print the report: %s\n", program->name, strerror(errno));
    return 0;
}

int load_report_print(const struct load_report *report, const struct load_program *program, const struct load_run *run,
                      const char *ended)
{
    uint64_t *sums = calloc(report->n_seconds, sizeof *sums), counts[LOAD_MAX_COUNTS];
    int64_t busy_ns, end_ns;
    int enough = sums != NULL, printed = 1;
    MPI_Allreduce(MPI_IN_PLACE, &enough, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (enough) {
        MPI_Reduce(report->per_second, sums, (int)report->n_seconds, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(run->counts, counts, LOAD_MAX_COUNTS, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(&report->busy_ns, &busy_ns, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(&report->end_ns, &end_ns, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
        if (run->rank == 0)
            printed = print(report, program, run, sums, counts, busy_ns, end_ns, ended);
    } else if (run->rank == 0) {
        fprintf(stderr, "%s: cannot print the report: not enough memory\n", program->name);
    }
    free(sums);
    return enough && printed;
}

void load_report_end(struct load_report *report)
{
    free(report->per_second);
    free(report->phases);
}
