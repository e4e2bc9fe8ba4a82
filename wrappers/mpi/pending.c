#include "pending.h"

#include "init.h"
#include "segment.h"

enum { SLOTS = 64 }; /* bits of a word */

/* Each kind has its half: how many nonblocking ones run, which differs from rank to rank, does not decide whether a
 * persistent one is followed. */
#define NONBLOCKING UINT64_C(0x00000000ffffffff)
#define PERSISTENT UINT64_C(0xffffffff00000000)

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

/* One that runs and is not followed is done with at once: the count of collectives stays that of the other ranks. */
void xw_mpi_pending_add(xw_word request, unsigned function, int persistent)
{
    const uint64_t used = xw_mpi_pending() | xw_mpi_persistent();
    const uint64_t room = ~used & (persistent ? PERSISTENT : NONBLOCKING);
    const int mine = xw_segment_is_mine();
    if (!xw_segment_is_anyones())
        return;
    if (!mine || !room) {
        if (!persistent)
            xw_segment_missed(1);
        if (mine || persistent)
            xw_count_lost(XW_LOST_REQUESTS);
        return;
    }
    const int slot = __builtin_ctzll(room);
    table[slot] = (struct slot){.handle = handle_at(request, 0), .function = function};
    __atomic_fetch_or(persistent ? &xw_hot.persistent : &xw_hot.pending, bit(slot), __ATOMIC_RELEASE);
}

void xw_mpi_pending_start(xw_word requests, int32_t n)
{
    const uint64_t persistent = __atomic_load_n(&xw_hot.persistent, __ATOMIC_ACQUIRE);
    for (int32_t i = 0; requests && i < n; i++) {
        int slot = slot_of(handle_at(requests, i), persistent & ~xw_mpi_pending());
        if (slot < 0)
            slot = slot_of(handle_at(requests, i), persistent);
        if (slot >= 0 && __atomic_fetch_or(&xw_hot.pending, bit(slot), __ATOMIC_ACQ_REL) & bit(slot))
            xw_segment_missed(1); /* it could be started, so the one before had ended where nobody saw it */
    }
}

/* No longer running. Whoever is told 1 completes it, once. */
static int stop(int slot)
{
    return (__atomic_fetch_and(&xw_hot.pending, ~bit(slot), __ATOMIC_ACQ_REL) & bit(slot)) != 0;
}

/* A collective that runs ends in any case, and the other ranks count it; perhaps it is not even the one that is freed,
 * but a message with the same handle. */
void xw_mpi_pending_forget(xw_word request)
{
    const int slot = request ? slot_of(handle_at(request, 0), xw_mpi_pending() | xw_mpi_persistent()) : -1;
    if (slot < 0)
        return;
    if (stop(slot))
        xw_segment_missed(1);
    __atomic_fetch_and(&xw_hot.persistent, ~bit(slot), __ATOMIC_RELAXED);
}

uint64_t xw_mpi_pending_find(xw_word requests, int32_t n, int waits)
{
    const uint64_t pending = __atomic_load_n(&xw_hot.pending, __ATOMIC_ACQUIRE);
    uint64_t found = 0;
    for (int32_t i = 0; requests && i < n && found != pending; i++) {
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

/* A test is over as soon as it has begun: computation ends there. */
uint32_t xw_mpi_pending_done(uint64_t slots, const void *site, struct xw_mpi_completed completed)
{
    uint32_t n = 0, function = 0;
    if (completed.flag && !*completed.flag)
        return 0;
    for (; slots; slots &= slots - 1) {
        const int slot = __builtin_ctzll(slots);
        if (!is_complete(table[slot].position, &completed))
            continue;
        const uint32_t its_function = table[slot].function;
        if (stop(slot)) {
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
    if (!completed.waits)
        xw_segment_boundary();
    xw_segment_cut(function, site, n);
    return n;
}

/* Requests that are not persistent are null once they are complete. (What a persistent one is, its next start tells.)
 */
void xw_mpi_pending_failed(uint64_t slots, xw_word requests, int32_t n)
{
    for (slots &= NONBLOCKING; slots; slots &= slots - 1) {
        const int slot = __builtin_ctzll(slots);
        const int32_t position = table[slot].position;
        if (position < n && xw_mpi_same_handle(handle_at(requests, position), xw_mpi.request_null) && stop(slot))
            xw_segment_missed(1);
    }
}
