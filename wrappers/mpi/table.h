/*
 * The generated table of MPI functions (generate.py), in the order of functions.toml.
 *
 * Each function can be called by two names: MPI_X and, by tools and Fortran bindings, PMPI_X. Both are redirected, each
 * to a wrapper that forwards to its own definition.
 */
#ifndef XW_MPI_TABLE_H
#define XW_MPI_TABLE_H

#include "mpi_table.h" /* generated: XW_MPI_N, XW_MPI_INDEX_SIZE, XW_MPI_NAME_SIZE */
#include "os.h"

enum xw_mpi_name { XW_MPI_PLAIN, XW_MPI_PROFILING, XW_MPI_N_NAMES };

/* PMPI_X; the plain name begins at its second character. */
extern const char xw_mpi_names[XW_MPI_N][XW_MPI_NAME_SIZE] XW_HIDDEN;
/* xw_elf_hash of both names */
extern const uint32_t xw_mpi_hashes[XW_MPI_N][XW_MPI_N_NAMES] XW_HIDDEN;
/* Open addressing by the low bits of the plain name's hash: function + 1, 0: free. */
extern const uint16_t xw_mpi_index[XW_MPI_INDEX_SIZE] XW_HIDDEN;
extern void *const xw_mpi_wrappers[XW_MPI_N][XW_MPI_N_NAMES] XW_HIDDEN;
/* What the wrappers forward to. Set before any slot leads to the wrapper, never changed again. */
extern void *xw_mpi_real[XW_MPI_N][XW_MPI_N_NAMES] XW_HIDDEN;

#endif
