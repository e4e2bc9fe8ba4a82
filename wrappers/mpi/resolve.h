/*
 * Where the MPI functions are: the definitions that a call would reach without this library.
 *
 * The dynamic linker binds a name to its first definition in load order, so that is what is looked up: another tool
 * that is linked into the program or preloaded, before or behind us, is found before the MPI library and goes on
 * working. An MPI library that a plug-in brought in with RTLD_LOCAL is in that order too.
 */
#ifndef XW_MPI_RESOLVE_H
#define XW_MPI_RESOLVE_H

#include "os.h"

enum xw_mpi_scope {
    XW_MPI_FIRST,  /* the first definition in load order outside this library */
    XW_MPI_NEXT,   /* the first in an object that was loaded after this library */
    XW_MPI_LIBRARY /* that of the MPI library itself: the object that defines PMPI_Init */
};

/* A name to look up and where to put the address; it is left alone when there is no definition. */
struct xw_mpi_symbol {
    const char *name;
    uint32_t hash; /* xw_elf_hash(name) */
    void **address;
};

void xw_mpi_resolve(struct xw_mpi_symbol *symbols, unsigned n, enum xw_mpi_scope scope) XW_HIDDEN;
/* One name; NULL: not defined. */
void *xw_mpi_resolve_one(const char *name, enum xw_mpi_scope scope) XW_HIDDEN;
/* Base name of the file of the MPI library; 0: none is loaded. */
int xw_mpi_library_name(char *name, size_t size) XW_HIDDEN;

#endif
