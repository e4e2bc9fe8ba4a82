/*
 * A descriptor table of the helper's own, empty: what the program opens and closes is none of its business, and what
 * the helper keeps open no closefrom of the program can take. Raw system calls only.
 */
#ifndef XW_DESCRIPTORS_H
#define XW_DESCRIPTORS_H

#include "os.h"

/* Leave the shared table of the process for an empty one. Returns 0 when the calling thread still shares it. */
int xw_descriptors_leave(char *scratch, size_t size) XW_HIDDEN;
/* The same where the kernel has no close_range (before 5.9). */
int xw_descriptors_leave_one_by_one(char *scratch, size_t size) XW_HIDDEN;

#endif
