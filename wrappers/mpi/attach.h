/*
 * When the MPI wrappers get into the process: at start if an MPI library is there, at MPI_Init, and after modules were
 * loaded.
 */
#ifndef XW_MPI_ATTACH_H
#define XW_MPI_ATTACH_H

#include "counters.h"

/* From the constructor. In a process without an MPI library it reads the names of the loaded objects and returns. */
void xw_mpi_attach(void) XW_HIDDEN;
/* MPI_Init or MPI_Init_thread has succeeded in the calling thread. */
void xw_mpi_initialized(void) XW_HIDDEN;
/* MPI_Finalize is about to run in the calling thread: last segment, digest. */
void xw_mpi_finalizing(unsigned function) XW_HIDDEN;
/* MPI_Session_init has succeeded in the calling thread. */
void xw_mpi_session_began(void) XW_HIDDEN;
/* MPI_Session_finalize is about to run in the calling thread: the last one ends the last segment if there is no world.
 */
void xw_mpi_session_ending(unsigned function) XW_HIDDEN;

/*
 * Modules that are opened later. The program finds their functions by dlsym: so the slots of that name lead to a stub
 * that redirects the calls of modules opened since, and jumps on. Besides, wrappers that are not on a program's hottest
 * path look about twice a second.
 */
void xw_mpi_before_dlsym(void) XW_HIDDEN;
extern const char xw_mpi_dlsym_stub[] XW_HIDDEN;
extern void *xw_mpi_real_dlsym XW_HIDDEN;

/* Tick at which to look again. */
extern uint64_t xw_mpi_next_look XW_HIDDEN;
void xw_mpi_look_again(uint64_t now) XW_HIDDEN;

static inline void xw_mpi_look(uint64_t now)
{
    if (XW_UNLIKELY(now >= __atomic_load_n(&xw_mpi_next_look, __ATOMIC_RELAXED)))
        xw_mpi_look_again(now);
}

#endif
