/*
 * The digest: what rank 0 prints at MPI_Finalize. Pure functions on numbers; wrappers/mpi/digest_reduce.c brings the
 * ranks' numbers together and writes the text.
 *
 * Each rank contributes one vector of doubles:
 *
 *     0                       XW_DIGEST_N_SHARED                                 XW_DIGEST_N
 *     +-----------------------+--------------------------------------------------+
 *     | measures of the rank  | lost counters | functions: calls, out, in, time  |
 *     +-----------------------+--------------------------------------------------+
 *       minimum, maximum, sum   sum over ranks only
 */
#ifndef XW_DIGEST_H
#define XW_DIGEST_H

#include "init.h"

/* What a class of files has, each for POSIX and stdio. */
enum xw_digest_io { XW_DIGEST_IO_CALLS, XW_DIGEST_IO_BYTES, XW_DIGEST_IO_READ, XW_DIGEST_IO_WRITTEN, XW_DIGEST_N_IO };

enum xw_digest_measure {
    XW_DIGEST_WALL,       /* s since the process started */
    XW_DIGEST_NODE,       /* share of a node: 1 / ranks on it; 0: not known */
    XW_DIGEST_THREADS,    /* CPU time / run time */
    XW_DIGEST_BUSIEST,    /* threads that shared the work of the busiest slice; 0: no slice is closed */
    XW_DIGEST_OMP,        /* OMP_NUM_THREADS; 0: not set */
    XW_DIGEST_MPI_SHARE,  /* % of the run time */
    XW_DIGEST_IO_SHARE,   /* % of the run time in POSIX, stdio and MPI-IO */
    XW_DIGEST_COLL_RATE,  /* calls/s */
    XW_DIGEST_COLL_BYTES, /* in and out */
    XW_DIGEST_P2P_CALLS,  /* without waits */
    XW_DIGEST_P2P_BYTES,
    XW_DIGEST_MPIIO_CALLS,
    XW_DIGEST_MPIIO_BYTES,
    XW_DIGEST_INSTRUCTIONS, /* per second; 0: no counters */
    XW_DIGEST_FLOPS,        /* per second; 0: no counters */
    XW_DIGEST_CLASSES,      /* first of XW_N_CLASSES * XW_DIGEST_N_LAYERS * XW_DIGEST_N_IO */
};
enum xw_digest_layer { XW_DIGEST_POSIX, XW_DIGEST_STDIO, XW_DIGEST_N_LAYERS };

#define XW_DIGEST_CLASS(cls, layer, what)                                                                              \
    (XW_DIGEST_CLASSES + ((cls)*XW_DIGEST_N_LAYERS + (layer)) * XW_DIGEST_N_IO + (what))
#define XW_DIGEST_N_SHARED XW_DIGEST_CLASS(XW_N_CLASSES, 0, 0)
#define XW_DIGEST_LOST(what) (XW_DIGEST_N_SHARED + (what))
#define XW_DIGEST_FUNCTION(function, word) (XW_DIGEST_LOST(XW_N_LOST) + (function)*4 + (word))
#define XW_DIGEST_N XW_DIGEST_FUNCTION(XW_N_FUNCTIONS, 0)

/* This rank's vector. `ns_per_tick` turns the totals' ticks into time, `node_share` is 1 / ranks on this node or 0. */
void xw_digest_measure(double vector[XW_DIGEST_N], const struct xw_totals *totals, double ns_per_tick,
                       double node_share) XW_HIDDEN;

/* All ranks' numbers, or those of rank 0 alone. */
struct xw_digest_report {
    const double *minimum; /* XW_DIGEST_N_SHARED each */
    const double *maximum;
    const double *sum; /* XW_DIGEST_N */
    int ranks;         /* of the job */
    int alone;         /* the numbers are those of rank 0, the others did not answer */
    int full;          /* the table of functions too */
    const char *program;
    const char *job_id; /* "": none */
    const char *mpi;
    const char *url; /* of the dashboard, %j is the job id; "": none */
};

/* Write the digest as text of whole lines, at most size - 1 bytes and a NUL. Returns its length. */
size_t xw_digest_format(char *text, size_t size, const struct xw_digest_report *report) XW_HIDDEN;

#endif
