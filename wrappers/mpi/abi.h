/*
 * Which MPI is in the process, and what of its binary interface we have to know.
 *
 * Set once, before the first wrapper can run: no call is redirected until `xw_mpi.kind` is known. Arguments and handles
 * travel as 64-bit words whatever their size is; whoever compares a handle masks it.
 */
#ifndef XW_MPI_ABI_H
#define XW_MPI_ABI_H

#include "os.h"

typedef uint64_t xw_word;

enum xw_mpi_kind { XW_MPI_NONE, XW_MPI_OPENMPI, XW_MPI_MPICH, XW_MPI_ABI5 };

struct xw_mpi {
    enum xw_mpi_kind kind;
    const char *name; /* as the spool file says it */

    /* constants */
    unsigned handle_size; /* in arrays of handles: 4 or 8 */
    xw_word handle_mask;
    xw_word in_place, status_ignore;
    int32_t proc_null, root;
    int32_t combiner_named;
    int32_t topo_cart, topo_graph, topo_dist_graph;
    xw_word world, comm_null, type_byte, type_double, op_max, op_sum, request_null, errors_return;

    /* after MPI_Init */
    int32_t rank, ranks; /* of MPI_COMM_WORLD; ranks 0: not initialised */

    /* Functions of the MPI library itself, past every other tool; never counted. NULL: it has none. */
    int (*comm_rank)(xw_word comm, int32_t *rank);
    int (*comm_size)(xw_word comm, int32_t *size);
    int (*comm_test_inter)(xw_word comm, int32_t *inter);
    int (*comm_remote_size)(xw_word comm, int32_t *size);
    int (*topo_test)(xw_word comm, int32_t *topology);
    int (*cartdim_get)(xw_word comm, int32_t *dimensions);
    int (*cart_shift)(xw_word comm, xw_word dimension, xw_word distance, int32_t *source, int32_t *destination);
    int (*graph_neighbors_count)(xw_word comm, xw_word rank, int32_t *n);
    int (*dist_graph_neighbors_count)(xw_word comm, int32_t *in, int32_t *out, int32_t *weighted);
    int (*type_size)(xw_word type, int32_t *size);
    int (*type_size_x)(xw_word type, int64_t *size);
    int (*type_get_envelope)(xw_word type, int32_t *integers, int32_t *addresses, int32_t *types, int32_t *combiner);
    int (*type_get_envelope_c)(xw_word type, int64_t *integers, int64_t *addresses, int64_t *counts, int64_t *types,
                               int32_t *combiner);
    int (*get_count)(xw_word status, xw_word type, int32_t *count);
    int (*get_elements_x)(xw_word status, xw_word type, int64_t *count);
    int (*comm_get_errhandler)(xw_word comm, xw_word *handler);
    int (*comm_set_errhandler)(xw_word comm, xw_word handler);
    int (*errhandler_free)(xw_word *handler);
    int (*ireduce)(const void *in, void *out, xw_word count, xw_word type, xw_word op, xw_word root, xw_word comm,
                   xw_word *request);
    int (*test)(xw_word *request, int32_t *flag, xw_word status);
};
extern struct xw_mpi xw_mpi XW_HIDDEN;

/* An int argument: only the low half of its word is defined. */
static inline int32_t xw_mpi_int(xw_word word) { return (int32_t)(uint32_t)word; }
static inline int xw_mpi_same_handle(xw_word a, xw_word b) { return ((a ^ b) & xw_mpi.handle_mask) == 0; }

/* Find out which MPI library is loaded and fill xw_mpi. Returns 0 when there is none that we know; may be called again.
 */
int xw_mpi_detect(void) XW_HIDDEN;

#endif
