/*
 * Call sites: from which place in the program a function was called, as a number that is the same in every rank and
 * every run.
 */
#ifndef XW_CALL_SITES_H
#define XW_CALL_SITES_H

#include "os.h"

/* A hash of the function and of the return address relative to its module, some 2 ns. Fortran: of the place in the
 * program, not in the MPI library's binding. Any thread. */
uint64_t xw_call_site(unsigned function, const void *return_address) XW_HIDDEN;
/* The loaded modules changed (Init, dlopen): read their address ranges again. */
void xw_call_sites_modules_changed(void) XW_HIDDEN;

#endif
