/*
 * The spool directory, which many users' processes share.
 */
#ifndef XW_SPOOL_DIR_H
#define XW_SPOOL_DIR_H

#include "os.h"
#include "text.h"

/* Open it for making files in, making it where its parent lets us; negative when it is missing or another user could
 * tamper with it. */
int xw_spool_open_directory(const char *path) XW_HIDDEN;
/* The name under which a file is made, to be given its own when it is complete: nobody ever sees half of one. */
void xw_spool_temporary_name(char *name, size_t size, uint64_t start_ns) XW_HIDDEN;
/* Append a name, with every character but letters, digits, - and _ replaced: it comes from the environment. */
void xw_spool_harmless(struct xw_text *text, const char *name) XW_HIDDEN;

#endif
