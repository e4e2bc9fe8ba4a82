/*
 * Options, from the environment, read once before the first count. The table in config.c is the only place that
 * names them; docs/environment.md lists them and a test compares the two.
 */
#ifndef XW_CONFIG_H
#define XW_CONFIG_H

#include "os.h"

enum xw_digest { XW_DIGEST_OFF, XW_DIGEST_SHORT, XW_DIGEST_FULL };

struct xw_config {
    int disable;              /* CROSSWIND_DISABLE: do nothing at all */
    char spool[256];          /* CROSSWIND_SPOOL: directory of the spool files */
    uint64_t slice_ns;        /* CROSSWIND_SLICE: "4s", "500ms" */
    int digest;               /* CROSSWIND_DIGEST: off, short, full */
    int timing;               /* CROSSWIND_TIMING: 0 reads no clock in wrappers */
    uint64_t helper_after_ms; /* CROSSWIND_HELPER_AFTER: age at which the helper thread may start, ms */
    uint64_t digest_wait_ms;  /* CROSSWIND_DIGEST_WAIT: how long rank 0 waits for the other ranks' numbers, ms */
    char events[128];         /* CROSSWIND_EVENTS: processor events, by the names of the metric table */
    const char *skip;         /* CROSSWIND_SKIP: executables to leave alone (skip.h). In the environment itself: of any
                                 length, and there only while the options are read */
    const char *skip_site;    /* CROSSWIND_SKIP_SITE: the same, of the site; a user's list does not replace it */
    char job_id[64];          /* of CROSSWIND_JOB_ID or the batch system's variable */
    char step_id[64];         /* of CROSSWIND_STEP_ID or the launcher's variables: name_step in config.c */
    int run;                  /* SLURM_RESTART_COUNT: how often the job was queued again and started anew */
    int array_index;          /* LSB_JOBINDEX: elements of an array of LSF have one job id; 0: none */
    int rank;                 /* of the launcher's variable; -1: none */
    int ranks;                /* 0: unknown */
    int no_helper; /* never start the helper: the process began under seccomp, or with other rights than its user's */
    char omp_num_threads[32]; /* OMP_NUM_THREADS: what the user asked for, beside what was used */
    char url[128];            /* CROSSWIND_URL: where the site's dashboard is, for the digest; %j is the job id */
};
extern struct xw_config xw_config XW_HIDDEN;

/* Read the options from the environment block (NULL: none). Unknown or bad values leave the default. No libc. */
void xw_config_read(struct xw_config *config, char *const *environment) XW_HIDDEN;

#endif
