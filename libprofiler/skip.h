/*
 * Which executables are left alone.
 */
#ifndef XW_SKIP_H
#define XW_SKIP_H

#include "os.h"

/* Whether `name` matches a pattern of the list, which commas separate: `*` stands for any characters, `?` for one. */
int xw_is_listed(const char *list, const char *name) XW_HIDDEN;

#endif
