/*
 * Call sites: from which place in the program a function was called, as a number that is the same in every rank and
 * every run, and as a place in a module.
 */
#ifndef XW_CALL_SITES_H
#define XW_CALL_SITES_H

#include "mpi/fortran.h"
#include "os.h"

#define XW_MODULE_NAME 48u /* bytes of a module's name that are kept, the final NUL among them */

/* A place in a module: `offset` is the address by which the module's own file knows it. */
struct xw_module_place {
    uintptr_t offset;
    char module[XW_MODULE_NAME]; /* base name; empty: the program itself */
};

/* A hash of the function and of the return address relative to its module, some 2 ns. Fortran: of the place in the
 * program, not in the MPI library's binding. Any thread. */
uint64_t xw_call_site(unsigned function, const void *return_address) XW_HIDDEN;
/* The return address in the program: the same, but for Fortran. */
static inline uintptr_t xw_call_place(const void *return_address)
{
    return (uintptr_t)xw_fortran_place(return_address);
}
/* In which module a place is, as of the last change; 0: in none. */
int xw_call_place_in_module(uintptr_t place, struct xw_module_place *found) XW_HIDDEN;
/* The loaded modules changed (Init, dlopen): read their address ranges again. */
void xw_call_sites_modules_changed(void) XW_HIDDEN;

#endif
