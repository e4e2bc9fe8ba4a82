#include "attach.h"

#include "abi.h"
#include "call_sites.h"
#include "config.h"
#include "digest_reduce.h"
#include "got.h"
#include "init.h"
#include "loaded.h"

#define LOOK_TICKS (UINT64_C(1) << 30) /* some 0.4 s by the cycle counter, 1.1 s by the clock in ns */

uint64_t xw_mpi_next_look = ~UINT64_C(0);
static uint64_t loaded_before; /* objects loaded when calls were last redirected */
static int unfinished;         /* another thread may have been loading then: once more, later */

static void redirect(enum xw_mpi_when when)
{
    loaded_before = xw_elf_loaded();
    xw_mpi_redirect(when);
}

void xw_mpi_attach(void)
{
    if (xw_elf_is_loaded("libmpi") && xw_mpi_detect())
        redirect(XW_MPI_AT_START);
}

/*
 * What segments and records are about: MPI_COMM_WORLD once MPI_Init has been called; before, and in a program that
 * never calls it, the processes of the open sessions, as many as the launcher says. The last MPI_Session_finalize leads
 * back.
 */
enum phase { OUTSIDE, SESSIONS, WORLD };
static uint32_t phase;    /* enum phase */
static uint32_t sessions; /* open ones */

static int change_phase(uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&phase, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void start(int32_t rank, int32_t ranks)
{
    redirect(XW_MPI_LATER);
    xw_mpi.rank = rank;
    xw_mpi.ranks = ranks;
    xw_mpi_next_look = 0;
    xw_call_sites_modules_changed();
    xw_mpi_started(xw_mpi.name, rank, ranks);
}

void xw_mpi_initialized(void)
{
    int32_t rank, ranks;
    if (!xw_mpi_detect() || xw_mpi.comm_rank(xw_mpi.world, &rank) || xw_mpi.comm_size(xw_mpi.world, &ranks))
        return;
    if (!change_phase(OUTSIDE, WORLD) && !change_phase(SESSIONS, WORLD))
        return;
    xw_digest_prepare();
    start(rank, ranks);
}

void xw_mpi_finalizing(unsigned function)
{
    static int done;
    if (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != WORLD || __atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
        return;
    xw_mpi_ending(function);
    xw_digest_give();
}

void xw_mpi_session_began(void)
{
    __atomic_fetch_add(&sessions, 1, __ATOMIC_ACQ_REL);
    if (xw_mpi_detect() && change_phase(OUTSIDE, SESSIONS))
        start(xw_config.rank >= 0 ? xw_config.rank : 0, xw_config.ranks > 0 ? xw_config.ranks : 1);
}

void xw_mpi_session_ending(unsigned function)
{
    if (__atomic_fetch_sub(&sessions, 1, __ATOMIC_ACQ_REL) == 1 && change_phase(SESSIONS, OUTSIDE))
        xw_mpi_ending(function);
}

/* --- modules that are opened later --- */

void *xw_mpi_real_dlsym;

static void look(void)
{
    if (xw_elf_loaded() == loaded_before)
        return;
    redirect(XW_MPI_LATER);
    xw_call_sites_modules_changed();
    unfinished = 1;
}

/* Not inside a call: there an MPI library opens plug-ins of its own, one after the other. */
void xw_mpi_before_dlsym(void)
{
    if (xw_mpi.ranks && xw_tls_usable(xw_tls_self_offset) && !xw_runs_around(xw_thread.outermost, xw_stack_pointer()))
        look();
}

void xw_mpi_look_again(uint64_t now)
{
    __atomic_store_n(&xw_mpi_next_look, now + LOOK_TICKS, __ATOMIC_RELAXED);
    if (unfinished) {
        unfinished = 0;
        redirect(XW_MPI_LATER);
    }
    look();
}
