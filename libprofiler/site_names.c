#include "site_names.h"

#include <string.h>

#include "call_sites.h"
#include "process.h"
#include "text.h"
#include "varint.h"

enum { SLOT_BITS = 9, MAX_PAYLOAD = 4 * XW_VARINT_MAX + XW_MODULE_NAME };
_Static_assert(1 << SLOT_BITS == XW_SITE_NAME_SLOTS, "the hash has as many bits");
_Static_assert(XW_N_FUNCTIONS < 1 << XW_PLACE_SHIFT, "a key holds the function");

/* The record of a place. 0: it is in no module, or there is no room. */
static uint32_t write_name(struct xw_process *process, unsigned function, uintptr_t place)
{
    struct xw_site_names *names = &process->site_names;
    struct xw_spool *spool = &process->spool;
    struct xw_module_place found;
    uint8_t payload[MAX_PAYLOAD];
    if (names->n_named == XW_SITE_NAMES || !xw_call_place_in_module(place, &found))
        return 0;
    const char *module = *found.module ? found.module : spool->header->exe;
    const size_t length = xw_length(module) < XW_MODULE_NAME ? xw_length(module) : XW_MODULE_NAME;
    if (!length)
        return 0;
    uint8_t *at = xw_put_varint(payload, names->n_named + 1);
    at = xw_put_varint(at, function);
    at = xw_put_varint(at, found.offset);
    at = xw_put_varint(at, length);
    memcpy(at, module, length);
    const uint32_t size = (uint32_t)(at - payload) + (uint32_t)length;
    if (xw_log_begin(spool, &spool->sites, size) < 0)
        return 0;
    xw_log_append(&spool->sites, payload, size);
    return ++names->n_named;
}

/* Whether there is a log: not before it has its chunk, and never in a forked child. */
static int have_log(const struct xw_process *process) { return xw_spool_area(&process->spool, XW_CHUNK_SITES) != NULL; }

/* The first cut at a place; where there is no log yet, the next one is. Undisturbed: a signal handler that forks would
 * leave its child in the middle of a log that it does not have. It may have done so before, so the log is looked for
 * again. */
static XW_NOINLINE uint32_t add(struct xw_process *process, uint32_t slot, uint64_t key, uintptr_t place)
{
    struct xw_site_names *names = &process->site_names;
    if (names->n_keys == XW_SITE_NAMES || xw_is_sealed() || !have_log(process))
        return 0;
    const uint64_t signals = xw_block_signals();
    if (have_log(process)) {
        names->number[slot] = (uint8_t)write_name(process, key & ((1u << XW_PLACE_SHIFT) - 1), place);
        names->key[slot] = key;
        names->n_keys++;
    }
    xw_restore_signals(signals);
    return names->number[slot];
}

static uint32_t number_of(struct xw_process *process, uint64_t key, uintptr_t place)
{
    const struct xw_site_names *names = &process->site_names;
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS));
    for (; names->key[slot]; slot = (slot + 1) % XW_SITE_NAME_SLOTS)
        if (names->key[slot] == key)
            return names->number[slot];
    return place ? add(process, slot, key, place) : 0;
}

uint32_t xw_site_call(struct xw_process *process, unsigned function, const void *return_address)
{
    struct xw_site_names *names = &process->site_names;
    const uintptr_t place = xw_call_place(return_address);
    const uint64_t key = (uint64_t)place << XW_PLACE_SHIFT | function;
    if (XW_LIKELY(key == names->last_key))
        return names->last_call;
    const uint32_t number = number_of(process, key, place);
    if (number) { /* what has none may get one */
        names->last_call = function | number << XW_PLACE_SHIFT;
        names->last_key = key;
    }
    return function | number << XW_PLACE_SHIFT;
}
