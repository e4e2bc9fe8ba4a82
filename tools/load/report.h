/* What a load program did and when: recorded while it runs, printed as one JSON document by rank 0. */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

#include "load.h"

struct load_report {
    int64_t start_ns;
    int64_t end_ns;       /* its files are closed, and not yet removed: that is no work */
    uint64_t *per_second; /* amount done in each second since start_ns */
    uint32_t n_seconds;
    int64_t (*phases)[2]; /* begin and end of each stretch of work, UTC ns */
    uint32_t n_phases, room;
    int active;      /* a phase is open */
    int64_t busy_ns; /* spent in work, without the pauses of --intensity */
};

/* Returns 0 without memory. */
int load_report_begin(struct load_report *report, const struct load_options *options);
/* Work has begun or ended now; the same again changes nothing. */
void load_report_phase(struct load_report *report, int active);
/* `amount` was done between the two times: spread over the seconds it took. */
void load_report_add(struct load_report *report, int64_t from_ns, int64_t to_ns, uint64_t amount);
/* Add up over the ranks and print (rank 0). Phases are rank 0's, the end is the last rank's. Collective. Returns 0,
   with a line on stderr, if it could not be written. */
int load_report_print(const struct load_report *report, const struct load_program *program, const struct load_run *run,
                      const char *ended);
void load_report_end(struct load_report *report);

#endif
