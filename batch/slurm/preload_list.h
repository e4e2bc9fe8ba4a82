/* LD_PRELOAD as a list: entries separated by colons or blanks. Pure, but for the look whether a library is there. */
#ifndef CW_PRELOAD_LIST_H
#define CW_PRELOAD_LIST_H

#include <stddef.h>

/*
 * `list` with `library` in front. A list that has a library of the same file name already, ours or one that the user
 * brought, stays as it is: two copies would count everything twice. Returns 0 when the result does not fit.
 */
int cw_preload_add(char *result, size_t size, const char *list, const char *library);

/* `list` without entries of the same file name as `library`. Returns 0 when the result does not fit. */
int cw_preload_remove(char *result, size_t size, const char *list, const char *library);

/*
 * Whether the dynamic linker will find an ELF file at `path`, under one of the names that $LIB stands for: it prints a
 * line at every exec for one that is missing.
 */
int cw_preload_is_there(const char *path);

#endif
