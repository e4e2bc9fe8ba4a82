#include "pending.h"

#include "init.h"
#include "segment.h"

enum { SLOTS = 64 }; /* bits of a word */

static struct slot {
    xw_word handle;
    uint32_t function; /* what ends a segment */
    int32_t position;  /* in the array of the wait or test that runs */
} table[SLOTS];

static xw_word handle_at(xw_word requests, int64_t i)
{
    return xw_mpi.handle_size == 8 ? ((const uint64_t *)requests)[i] : ((const uint32_t *)requests)[i];
}

/* The first of the slots that has the handle; -1: none. */
static int slot_of(xw_word handle, uint64_t slots)
{
    for (; slots; slots &= slots - 1) {
        const int slot = __builtin_ctzll(slots);
        if (table[slot].handle == handle)
            return slot;
    }
    return -1;
}

static uint64_t bit(int slot) { return UINT64_C(1) << slot; }

/* One that runs and finds no room is done with at once: the count of collectives stays that of the other ranks. */
void xw_mpi_pending_add(xw_word request, unsigned function, int persistent)
{
    if (!xw_segment_is_mine())
        return;
    const uint64_t used = xw_mpi_pending() | xw_mpi_persistent();
    if (~used == 0) {
        xw_count_lost(XW_LOST_REQUESTS);
        if (!persistent)
            xw_segment_missed(1);
        return;
    }
    const int slot = __builtin_ctzll(~used);
    table[slot] = (struct slot){.handle = handle_at(request, 0), .function = function};
    __atomic_fetch_or(persistent ? &xw_hot.persistent : &xw_hot.pending, bit(slot), __ATOMIC_RELEASE);
}

void xw_mpi_pending_start(xw_word requests, int32_t n)
{
    if (!xw_segment_is_mine())
        return;
    for (int32_t i = 0; i < n; i++) {
        const int slot = slot_of(handle_at(requests, i), xw_mpi_persistent() & ~xw_mpi_pending());
        if (slot >= 0)
            __atomic_fetch_or(&xw_hot.pending, bit(slot), __ATOMIC_RELEASE);
    }
}

void xw_mpi_pending_forget(xw_word request)
{
    const int slot = slot_of(handle_at(request, 0), xw_mpi_pending() | xw_mpi_persistent());
    if (slot < 0)
        return;
    __atomic_fetch_and(&xw_hot.pending, ~bit(slot), __ATOMIC_RELAXED);
    __atomic_fetch_and(&xw_hot.persistent, ~bit(slot), __ATOMIC_RELAXED);
}

uint64_t xw_mpi_pending_find(xw_word requests, int32_t n, int waits)
{
    const uint64_t pending = __atomic_load_n(&xw_hot.pending, __ATOMIC_ACQUIRE);
    uint64_t found = 0;
    for (int32_t i = 0; i < n && found != pending; i++) {
        const int slot = slot_of(handle_at(requests, i), pending & ~found);
        if (slot < 0)
            continue;
        table[slot].position = i;
        found |= bit(slot);
    }
    if (found && waits)
        xw_segment_boundary();
    return found;
}

static int is_complete(int32_t position, const struct xw_mpi_completed *completed)
{
    if (!completed->indices)
        return 1;
    const int32_t n = completed->count ? *completed->count : 1; /* MPI_UNDEFINED is negative */
    for (int32_t i = 0; i < n; i++)
        if (completed->indices[i] == position)
            return 1;
    return 0;
}

/* A bit is cleared by whoever completes the request, once. A test is over as soon as it has begun: computation ends
 * there. */
uint32_t xw_mpi_pending_done(uint64_t slots, struct xw_mpi_completed completed)
{
    uint32_t n = 0, function = 0;
    if (completed.flag && !*completed.flag)
        return 0;
    for (; slots; slots &= slots - 1) {
        const int slot = __builtin_ctzll(slots);
        if (!is_complete(table[slot].position, &completed))
            continue;
        const uint32_t its_function = table[slot].function;
        if (__atomic_fetch_and(&xw_hot.pending, ~bit(slot), __ATOMIC_ACQ_REL) & bit(slot)) {
            function = its_function;
            n++;
        }
    }
    if (!n)
        return 0;
    if (!xw_segment_is_mine()) {
        xw_segment_missed(n);
        return n;
    }
    if (completed.flag)
        xw_segment_boundary();
    xw_segment_cut(function, n);
    return n;
}
