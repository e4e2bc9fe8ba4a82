#include "attach.h"

#include "abi.h"
#include "digest_reduce.h"
#include "got.h"
#include "init.h"
#include "loaded.h"
#include "segment.h"

#define LOOK_TICKS (UINT64_C(1) << 30) /* some 0.4 s by the cycle counter, 1.1 s by the clock in ns */

uint64_t xw_mpi_next_look = ~UINT64_C(0);
static uint64_t loaded_before; /* objects loaded when calls were last redirected */

static void redirect(void)
{
    loaded_before = xw_elf_loaded();
    xw_mpi_redirect();
}

void xw_mpi_attach(void)
{
    if (xw_elf_is_loaded("libmpi") && xw_mpi_detect())
        redirect();
}

void xw_mpi_initialized(void)
{
    if (xw_mpi.ranks || !xw_mpi_detect())
        return;
    int32_t rank, ranks;
    if (xw_mpi.comm_rank(xw_mpi.world, &rank) || xw_mpi.comm_size(xw_mpi.world, &ranks))
        return;
    redirect();
    xw_digest_prepare();
    xw_mpi.rank = rank;
    xw_mpi.ranks = ranks;
    xw_mpi_next_look = 0;
    xw_segment_modules_changed();
    xw_mpi_started(xw_mpi.name, rank, ranks);
}

void xw_mpi_finalizing(unsigned function)
{
    static int done;
    if (!xw_mpi.ranks || __atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
        return;
    xw_mpi_ending(function);
    xw_digest_give();
}

void xw_mpi_look_again(uint64_t now)
{
    __atomic_store_n(&xw_mpi_next_look, now + LOOK_TICKS, __ATOMIC_RELAXED);
    if (xw_elf_loaded() == loaded_before)
        return;
    redirect();
    xw_segment_modules_changed();
}
