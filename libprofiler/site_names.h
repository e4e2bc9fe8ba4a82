/*
 * Names of the places that cut segments: a number for each place, and once, at its first cut, a record in the spool
 * file that says in which module it is and where (format.h).
 *
 * Only the thread that owns the segments calls in here, in a published process.
 */
#ifndef XW_SITE_NAMES_H
#define XW_SITE_NAMES_H

#include "os.h"

struct xw_process;

enum { XW_SITE_NAMES = 255, XW_SITE_NAME_SLOTS = 512, XW_SITE_NAMES_SIZE = 8192 /* of the log, bytes */ };

/* All zeros at the start. Open addressing by the key; more than half of the slots are always free. */
struct xw_site_names {
    uint64_t last_key; /* that of the call before, with its answer */
    uint32_t last_call;
    uint32_t n_keys, n_named;
    uint64_t key[XW_SITE_NAME_SLOTS];   /* address << XW_PLACE_SHIFT | function; 0: free */
    uint8_t number[XW_SITE_NAME_SLOTS]; /* 0: it could not be named */
};

/* A call as rows of segments say it (format.h): the function, and the number of the place from which it was called, 0
 * if that has no name. Some 2 ns, but for the first call from a place. */
uint32_t xw_site_call(struct xw_process *process, unsigned function, const void *return_address) XW_HIDDEN;

#endif
