/*
 * Signals that a write may raise: SIGXFSZ beyond RLIMIT_FSIZE, SIGPIPE where nobody reads, SIGTTOU of a background
 * process. Each can end or stop a program, which is not to blame for what we write in its thread.
 */
#ifndef XW_WRITE_SIGNALS_H
#define XW_WRITE_SIGNALS_H

#include "os.h"

struct xw_write_signals {
    uint64_t mask, pending; /* of the calling thread, before */
};

/* Keep them from the calling thread until the release, which drops those that came in between. */
struct xw_write_signals xw_write_signals_hold(void) XW_HIDDEN;
void xw_write_signals_release(const struct xw_write_signals *before) XW_HIDDEN;
/* Whether RLIMIT_FSIZE lets the process write a file up to this size. */
int xw_file_limit_allows(uint64_t size) XW_HIDDEN;

#endif
