/*
 * Redirecting calls: the slots through which loaded objects call MPI functions (the global offset table) are made to
 * point to our wrappers. The names themselves are not exported, so that a program that probes for a function sees what
 * is there.
 *
 * A slot is changed only if it leads to the definition that the wrapper will call, or is still to be bound lazily,
 * which would lead there. A NULL slot (a weak function that is not there) and a slot that another tool has taken over
 * stay as they are.
 */
#ifndef XW_MPI_GOT_H
#define XW_MPI_GOT_H

#include "os.h"

enum xw_mpi_when { XW_MPI_AT_START, XW_MPI_LATER };

/* Redirect all loaded objects' calls. Idempotent; one thread at a time, others return at once. At the start, before
 * main, the linker is done with all objects that are there. */
void xw_mpi_redirect(enum xw_mpi_when when) XW_HIDDEN;

#endif
