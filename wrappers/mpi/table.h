/*
 * The generated table of MPI functions (generate.py): one entry per C symbol, in the order of functions.toml, a plain
 * form before its large-count form.
 *
 * Each can be called by two names: MPI_X and, by tools and Fortran bindings, PMPI_X. Both are redirected, each to a
 * wrapper that forwards to its own definition.
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
/* Open addressing by the low bits of the plain name's hash: entry + 1, 0: free. */
extern const uint16_t xw_mpi_index[XW_MPI_INDEX_SIZE] XW_HIDDEN;
/* What each counts as. */
struct xw_mpi_counted {
    uint16_t function; /* XW_F_* */
    uint16_t group;    /* XW_G_* */
};
extern const struct xw_mpi_counted xw_mpi_counted[XW_MPI_N] XW_HIDDEN;
/* Where each wrapper is, relative to this table: addresses would have to be relocated at the start of every process. */
extern const int32_t xw_mpi_wrapper_offsets[XW_MPI_N][XW_MPI_N_NAMES] XW_HIDDEN;
/* What the wrappers forward to. Set before any slot leads to the wrapper, never changed again. */
extern void *xw_mpi_real[XW_MPI_N][XW_MPI_N_NAMES] XW_HIDDEN;

static inline void *xw_mpi_wrapper(unsigned function, enum xw_mpi_name name)
{
    return (void *)((uintptr_t)xw_mpi_wrapper_offsets + (uintptr_t)(intptr_t)xw_mpi_wrapper_offsets[function][name]);
}

/* What the generated file makes such a table of: C has no constant for the distance of two addresses. */
#define XW_OFFSETS_BEGIN(table)                                                                                        \
    __asm__(".pushsection .rodata\n.balign 4\n.globl " #table "\n.hidden " #table "\n" #table ":\n"
#define XW_OFFSET(table, function) ".long " #function " - " #table "\n"
#define XW_OFFSETS_END                                                                                                 \
    ".popsection\n");

#define XW_OFFSETS_FUNCTION static __attribute__((used))

#endif
