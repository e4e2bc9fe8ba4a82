/*
 * The vocabulary of the byte rules in functions.toml, as the generated wrappers call it.
 *
 * Nothing is remembered about communicators and derived datatypes, whose handles are used again as soon as they are
 * freed: the MPI library is asked each time, by functions of a few ns. Only sizes of predefined datatypes are kept.
 */
#ifndef XW_MPI_BYTES_H
#define XW_MPI_BYTES_H

#include "abi.h"

/* --- datatypes --- */

/* Sizes of predefined datatypes, each entry one word: handle << 16 | size. */
#define XW_MPI_TYPE_CACHE 64u
extern uint64_t xw_mpi_type_cache[XW_MPI_TYPE_CACHE] XW_HIDDEN;

/* Size of a datatype in bytes, by asking; keeps that of a predefined one. */
uint64_t xw_mpi_type_size_slow(xw_word type) XW_HIDDEN;

/* Open MPI's predefined datatypes are structs of 512 bytes, those of the standard ABI small numbers. */
static inline unsigned xw_mpi_type_slot(xw_word type) { return (unsigned)(type ^ (type >> 9)) % XW_MPI_TYPE_CACHE; }

static inline uint64_t xw_mpi_type_size(xw_word type)
{
    if (xw_mpi.kind == XW_MPI_MPICH) {
        uint32_t handle = (uint32_t)type;
        if (handle >> 24 == 0x4c) /* a predefined datatype: its handle holds the size */
            return (handle >> 8) & 0xff;
    } else {
        uint64_t kept = __atomic_load_n(&xw_mpi_type_cache[xw_mpi_type_slot(type)], __ATOMIC_RELAXED);
        if (kept >> 16 == type)
            return kept & 0xffff;
    }
    return xw_mpi_type_size_slow(type);
}

/* A datatype is looked at only for a positive count: elsewhere it may be anything. */
static inline uint64_t xw_mpi_times_type(int64_t count, xw_word type)
{
    return count > 0 ? (uint64_t)count * xw_mpi_type_size(type) : 0;
}

/* --- communicators --- */

/* Queries about a communicator or an array. Pure: asked twice in one wrapper, the compiler asks once. */
#define XW_MPI_QUERY XW_HIDDEN __attribute__((pure))

/* Processes that an array of counts has entries for, in their order. */
struct xw_mpi_set {
    int32_t n, n_absent; /* entries; those of them that are MPI_PROC_NULL */
    uint64_t absent;     /* bit i: entry i is; only the first 64 are told apart */
};

/* Those that a collective on `comm` exchanges with: all of an intra-communicator, the remote group of the other kind.
 */
struct xw_mpi_set xw_mpi_peers(xw_word comm) XW_MPI_QUERY;
/* The group that the calling process belongs to. */
struct xw_mpi_set xw_mpi_group(xw_word comm) XW_MPI_QUERY;
/* The neighbours in the communicator's topology that a neighbourhood collective receives from and sends to. */
struct xw_mpi_set xw_mpi_sources(xw_word comm) XW_MPI_QUERY;
struct xw_mpi_set xw_mpi_destinations(xw_word comm) XW_MPI_QUERY;

static inline int64_t xw_mpi_size(struct xw_mpi_set set) { return set.n - set.n_absent; }
static inline int xw_mpi_has(struct xw_mpi_set set, int64_t i) { return i >= 64 || !(set.absent >> i & 1); }

/* Whether the calling process is the root. */
int xw_mpi_is_root(xw_word root, xw_word comm) XW_MPI_QUERY;
/* Whether a communicator has all processes of MPI_COMM_WORLD. */
int xw_mpi_is_world_sized(xw_word comm) XW_MPI_QUERY;

/* --- arrays of counts; `width` is the size of an entry, 4 or 8 --- */

int64_t xw_mpi_sum(xw_word array, unsigned width, struct xw_mpi_set set) XW_MPI_QUERY;
/* Sum of count times size of the datatype. */
uint64_t xw_mpi_sum_types(xw_word counts, unsigned width, xw_word types, struct xw_mpi_set set) XW_HIDDEN;
/* The entry of the calling process; 0 on an inter-communicator, whose arrays describe the other group. */
int64_t xw_mpi_own(xw_word array, unsigned width, xw_word comm) XW_MPI_QUERY;

/* --- statuses --- */

/* Bytes that a status says were received, read or written. */
uint64_t xw_mpi_moved(xw_word status) XW_HIDDEN;

/* Room for the status of any MPI, where the caller wants none. */
struct xw_mpi_status {
    uint64_t words[8];
};

#endif
