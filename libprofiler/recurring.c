#include "recurring.h"

enum { PROBES = 8, MAX_LOG_STRIDE = 16 };
#define ANCHOR UINT32_MAX

static int is_anchor(const struct xw_recurring_site *site) { return site->count == ANCHOR; }

/* The entry of a site, counted from the mark; that of one not passed since makes room. NULL: there is none. */
static struct xw_recurring_site *find(struct xw_recurring *recurring, uint64_t key)
{
    struct xw_recurring_site *spare = NULL;
    for (unsigned i = 0; i < PROBES; i++) {
        struct xw_recurring_site *site = &recurring->site[(key + i) % XW_RECURRING_SITES];
        const int stale = !site->key || (site->mark != recurring->mark && !is_anchor(site));
        if (site->key == key) {
            if (stale)
                *site = (struct xw_recurring_site){.key = key, .mark = recurring->mark};
            return site;
        }
        if (stale && !spare)
            spare = site;
    }
    if (spare)
        *spare = (struct xw_recurring_site){.key = key, .mark = recurring->mark};
    return spare;
}

/*
 * How often sites must be passed in a row, where world-sized collectives cut often enough by themselves: four times as
 * often as ever between two of them. Then they have ceased, or are rare in this part of the run.
 */
static uint64_t quiet(const struct xw_recurring *recurring)
{
    if (recurring->short_ones < XW_RECURRING_OFTEN)
        return 0;
    const uint64_t many = 4 * recurring->usual;
    return many < XW_RECURRING_FIRST ? XW_RECURRING_FIRST : many < XW_RECURRING_LONG ? many : XW_RECURRING_LONG;
}

/* Passages that make an anchor. */
static uint64_t needed(const struct xw_recurring *recurring)
{
    const uint64_t few = recurring->n_anchors ? XW_RECURRING_NEXT : XW_RECURRING_FIRST, many = quiet(recurring);
    return few > many ? few : many;
}

static void note(struct xw_recurring *recurring, uint64_t passed)
{
    if (passed > recurring->most)
        recurring->most = passed;
}

/* Whether the site is an anchor, if need be from now on. */
static int counts_as_anchor(struct xw_recurring *recurring, struct xw_recurring_site *site)
{
    if (is_anchor(site))
        return 1;
    note(recurring, ++site->count);
    if (site->count < needed(recurring))
        return 0;
    if (recurring->passages < site->count)
        recurring->passages = site->count - 1; /* without the one that is counted next */
    site->count = ANCHOR;
    recurring->n_anchors++;
    return 1;
}

uint32_t xw_recurring_pass(struct xw_recurring *recurring, uint64_t key)
{
    struct xw_recurring_site *site = find(recurring, key + !key);
    recurring->calls = 1;
    if (!site || !counts_as_anchor(recurring, site))
        return 0;
    recurring->mark++;
    note(recurring, ++recurring->passages);
    if (recurring->passages < quiet(recurring))
        return 0;
    const uint32_t open = ++recurring->open;
    if ((recurring->closed + open) & ((UINT64_C(1) << recurring->log_stride) - 1))
        return 0;
    recurring->closed += open;
    recurring->open = 0;
    return open;
}

void xw_recurring_cut(struct xw_recurring *recurring, uint64_t now_ns)
{
    if (++recurring->cuts < XW_RECURRING_PACE_CUTS)
        return;
    if (now_ns - recurring->window_ns < XW_RECURRING_PACE_NS && recurring->log_stride < MAX_LOG_STRIDE)
        recurring->log_stride++;
    recurring->cuts = 0;
    recurring->window_ns = now_ns;
}

int xw_recurring_world_cut(struct xw_recurring *recurring)
{
    if (recurring->most >= XW_RECURRING_LONG) {
        recurring->short_ones = 0;
        recurring->usual = 0;
    } else if (recurring->calls && recurring->short_ones < XW_RECURRING_OFF) {
        recurring->short_ones++;
        if (recurring->most > recurring->usual)
            recurring->usual = recurring->most;
    }
    recurring->mark++;
    recurring->passages = recurring->most = recurring->closed = 0;
    recurring->open = recurring->calls = 0;
    return recurring->short_ones < XW_RECURRING_OFF;
}
