#include "inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static double number(const char *name, double otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtod(value, NULL) : otherwise;
}

static int32_t find_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++)
        if (*text(variables[i]))
            return atoi(text(variables[i]));
    return -1;
}

/* Whether a comma-separated list has the word; an empty list has all. */
static int lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    if (!*list)
        return 1;
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (!strncmp(at, word, length) && (at[length] == ',' || !at[length]))
            return 1;
    }
    return 0;
}

/* "10-20,40-50" */
static void read_episodes(struct inject_plan *plan, const char *at)
{
    const unsigned room = sizeof plan->episode / sizeof *plan->episode;
    while (*at && plan->n_episodes < room) {
        char *end;
        double begin_s = strtod(at, &end), end_s = *end == '-' ? strtod(end + 1, &end) : begin_s;
        plan->episode[plan->n_episodes].begin_s = begin_s;
        plan->episode[plan->n_episodes++].end_s = end_s;
        at = *end == ',' ? end + 1 : "";
    }
}

void inject_read_plan(struct inject_plan *plan, unsigned char *chosen)
{
    char rank[16];
    const char *functions = text("CROSSWIND_INJECT_FUNCTIONS");
    plan->rank = find_rank();
    snprintf(rank, sizeof rank, "%d", plan->rank);
    plan->active = *functions && lists(text("CROSSWIND_INJECT_RANKS"), rank) &&
                   (plan->rank >= 0 || number("CROSSWIND_INJECT_WITHOUT_RANK", 0) != 0);
    plan->mean_ns = 1e3 * number("CROSSWIND_INJECT_MEAN_US", 0);
    plan->deviation_ns = 1e3 * number("CROSSWIND_INJECT_DEVIATION_US", 0);
    plan->probability = number("CROSSWIND_INJECT_PROBABILITY", 1);
    plan->seed = (uint64_t)number("CROSSWIND_INJECT_SEED", 0);
    plan->busy = number("CROSSWIND_INJECT_BUSY", 0) != 0;
    plan->period_s = number("CROSSWIND_INJECT_PERIOD_S", 0);
    plan->duty = number("CROSSWIND_INJECT_DUTY", 1);
    read_episodes(plan, text("CROSSWIND_INJECT_EPISODES"));
    snprintf(plan->log, sizeof plan->log, "%s", text("CROSSWIND_INJECT_LOG"));
    for (unsigned i = 0; i < inject_n_names; i++)
        chosen[i] = *functions && lists(functions, inject_names[i]);
}
