/*
 * The hot path (counters.h) for functions that are called seldom or do much: the same, not inlined. Most of the table
 * is of this kind, and its code would otherwise be several times as large.
 */
#ifndef XW_MPI_SELDOM_H
#define XW_MPI_SELDOM_H

#include "counters.h"

struct xw_call xw_enter_mpi_seldom(unsigned function, unsigned group) XW_HIDDEN;
void xw_leave_seldom(struct xw_call call, unsigned function, unsigned group, uint64_t out, uint64_t in) XW_HIDDEN;

#endif
