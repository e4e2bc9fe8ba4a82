#include "config.h"

#include "text.h"

struct xw_config xw_config;

/* Parsers: take the value, set the field only if the value is good. */

static int parse_unsigned(const char *text, uint64_t *number, const char **rest)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10)
            return 0;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == text)
        return 0;
    *number = value;
    *rest = at;
    return 1;
}

static void parse_flag(const char *value, void *field, size_t size)
{
    (void)size;
    int off = xw_equal(value, "") || xw_equal(value, "0") || xw_equal(value, "off") || xw_equal(value, "no");
    *(int *)field = !off;
}

static void parse_ms(const char *value, void *field, size_t size)
{
    (void)size;
    const char *rest;
    uint64_t number;
    if (parse_unsigned(value, &number, &rest) && !*rest && number <= 86400000)
        *(uint64_t *)field = number;
}

static void parse_integer(const char *value, void *field, size_t size)
{
    (void)size;
    const char *rest;
    uint64_t number;
    if (parse_unsigned(value, &number, &rest) && !*rest && number < 1u << 30)
        *(int *)field = (int)number;
}

/* "4s", "500ms", "4": 100 ms to 1 h */
static void parse_duration(const char *value, void *field, size_t size)
{
    (void)size;
    const char *rest;
    uint64_t number, unit = 1000000000u;
    if (!parse_unsigned(value, &number, &rest) || number > 3600000)
        return;
    if (xw_equal(rest, "ms"))
        unit = 1000000u;
    else if (*rest && !xw_equal(rest, "s"))
        return;
    uint64_t ns = number * unit;
    if (ns >= 100000000u && ns <= 3600000000000u)
        *(uint64_t *)field = ns;
}

static void parse_text(const char *value, void *field, size_t size)
{
    if (xw_length(value) < size)
        xw_copy(field, size, value);
}

static void parse_in_place(const char *value, void *field, size_t size)
{
    (void)size;
    *(const char **)field = value;
}

static void parse_digest(const char *value, void *field, size_t size)
{
    (void)size;
    if (xw_equal(value, "off") || xw_equal(value, "0"))
        *(int *)field = XW_DIGEST_OFF;
    else if (xw_equal(value, "short") || xw_equal(value, "1"))
        *(int *)field = XW_DIGEST_SHORT;
    else if (xw_equal(value, "full"))
        *(int *)field = XW_DIGEST_FULL;
}

struct option {
    const char *name;
    void (*parse)(const char *value, void *field, size_t size);
    size_t offset, size;
};

#define OPTION(name, parse, field)                                                                                     \
    {                                                                                                                  \
        name, parse, offsetof(struct xw_config, field), sizeof(((struct xw_config *)0)->field)                         \
    }

/* Where several variables set one field, the later row wins. */
static const struct option options[] = {
    OPTION("CROSSWIND_DISABLE", parse_flag, disable),
    OPTION("CROSSWIND_SPOOL", parse_text, spool),
    OPTION("CROSSWIND_SLICE", parse_duration, slice_ns),
    OPTION("CROSSWIND_DIGEST", parse_digest, digest),
    OPTION("CROSSWIND_TIMING", parse_flag, timing),
    OPTION("CROSSWIND_HELPER_AFTER", parse_ms, helper_after_ms),
    OPTION("CROSSWIND_DIGEST_WAIT", parse_ms, digest_wait_ms),
    OPTION("CROSSWIND_EVENTS", parse_text, events),
    OPTION("CROSSWIND_SKIP", parse_in_place, skip),
    OPTION("CROSSWIND_SKIP_SITE", parse_in_place, skip_site),
    OPTION("CROSSWIND_URL", parse_text, url),
    OPTION("OMP_NUM_THREADS", parse_text, omp_num_threads),
    OPTION("PMIX_NAMESPACE", parse_text, job_id), /* of the launcher alone: better than nothing */
    OPTION("FLUX_JOB_ID", parse_text, job_id),
    OPTION("LSB_JOBID", parse_text, job_id),
    OPTION("PBS_JOBID", parse_text, job_id),
    OPTION("SLURM_JOB_ID", parse_text, job_id),
    OPTION("CROSSWIND_JOB_ID", parse_text, job_id),
    OPTION("SLURM_STEP_ID", parse_text, step_id),
    OPTION("CROSSWIND_STEP_ID", parse_text, step_id),
    OPTION("SLURM_RESTART_COUNT", parse_integer, run),
    OPTION("LSB_JOBINDEX", parse_integer, array_index),
    OPTION("SLURM_PROCID", parse_integer, rank),
    OPTION("FLUX_TASK_RANK", parse_integer, rank),
    OPTION("PALS_RANKID", parse_integer, rank),
    OPTION("JSM_NAMESPACE_RANK", parse_integer, rank),
    OPTION("PMI_RANK", parse_integer, rank),
    OPTION("PMIX_RANK", parse_integer, rank),
    OPTION("OMPI_COMM_WORLD_RANK", parse_integer, rank),
    OPTION("FLUX_JOB_SIZE", parse_integer, ranks),
    OPTION("JSM_NAMESPACE_SIZE", parse_integer, ranks),
    OPTION("PMI_SIZE", parse_integer, ranks),
    OPTION("OMPI_COMM_WORLD_SIZE", parse_integer, ranks),
};

enum { N_OPTIONS = sizeof options / sizeof *options };
static void set_defaults(struct xw_config *config)
{
    *config = (struct xw_config){
        .slice_ns = 4000000000u,
        .digest = XW_DIGEST_SHORT,
        .timing = 1,
        .helper_after_ms = 2000,
        .digest_wait_ms = 5000,
        .skip = "",
        .skip_site = "",
        .rank = -1,
    };
    xw_copy(config->spool, sizeof config->spool, "/dev/shm/crosswind");
    xw_copy(config->events, sizeof config->events, "instructions,flops");
}

/* What the environment says of an option; NULL: nothing. */
static const char *said(const char *const *values, const char *name)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (xw_equal(options[i].name, name))
            return values[i];
    return NULL;
}

static int begins_with(const char *text, const char *beginning)
{
    while (*beginning && *text == *beginning)
        text++, beginning++;
    return !*beginning;
}

/*
 * The step within a job of Slurm, where nobody named it.
 *
 * Ranks of an mpirun of Open MPI on its own node are children of the batch script, which is no step; on other nodes
 * they are children of a daemon that is step 0, 1, ...: one launch would be two steps. What its ranks share is the
 * launcher's name for it. A job that was queued again and runs anew has the same id and the same numbers of steps:
 * "0-r1" is step 0 of the second run.
 */
static void name_step(struct xw_config *config, const char *const *values)
{
    struct xw_text text;
    char step[sizeof config->step_id];
    const char *launch = said(values, "PMIX_NAMESPACE");
    if (!said(values, "SLURM_JOB_ID") || said(values, "CROSSWIND_JOB_ID") || said(values, "CROSSWIND_STEP_ID"))
        return;
    text = xw_text_begin(step, sizeof step);
    if (launch && !begins_with(launch, "slurm.pmix.")) {
        xw_text_add(&text, "mpirun-");
        xw_text_add(&text, launch);
    } else {
        xw_text_add(&text, config->step_id);
    }
    if (config->run) {
        xw_text_add(&text, *step ? "-r" : "r");
        xw_text_number(&text, (uint64_t)config->run);
    }
    xw_copy(config->step_id, sizeof config->step_id, step);
}

/* LSF: "77[3]" is element 3 of array 77, as its own commands write it. */
static void name_array_element(struct xw_config *config, const char *const *values)
{
    const char *job = said(values, "LSB_JOBID");
    if (!config->array_index || !job || !xw_equal(config->job_id, job))
        return;
    struct xw_text text = xw_text_begin(config->job_id, sizeof config->job_id);
    xw_text_add(&text, job);
    xw_text_char(&text, '[');
    xw_text_number(&text, (uint64_t)config->array_index);
    xw_text_char(&text, ']');
}

/* The value when `entry` is NAME=value, else NULL. */
static const char *value_of(const char *entry, const char *name)
{
    while (*name && *entry == *name)
        entry++, name++;
    return !*name && *entry == '=' ? entry + 1 : NULL;
}

void xw_config_read(struct xw_config *config, char *const *environment)
{
    const char *values[N_OPTIONS] = {0};
    set_defaults(config);
    for (; environment && *environment; environment++) {
        char first = **environment; /* most entries begin with none of our letters */
        if (first != 'C' && first != 'S' && first != 'P' && first != 'O' && first != 'F' && first != 'L' &&
            first != 'J')
            continue;
        for (int i = 0; i < N_OPTIONS; i++) {
            const char *value = value_of(*environment, options[i].name);
            if (value)
                values[i] = value;
        }
    }
    for (int i = 0; i < N_OPTIONS; i++)
        if (values[i])
            options[i].parse(values[i], (char *)config + options[i].offset, options[i].size);
    name_step(config, values);
    name_array_element(config, values);
}
