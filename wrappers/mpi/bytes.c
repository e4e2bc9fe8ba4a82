#include "bytes.h"

uint64_t xw_mpi_type_cache[XW_MPI_TYPE_CACHE];

static int is_predefined(xw_word type)
{
    int32_t integers, addresses, types, combiner = -1;
    return xw_mpi.type_get_envelope && !xw_mpi.type_get_envelope(type, &integers, &addresses, &types, &combiner) &&
           combiner == xw_mpi.combiner_named;
}

uint64_t xw_mpi_type_size_slow(xw_word type)
{
    int64_t size = 0;
    int32_t small = 0;
    if (xw_mpi.type_size_x)
        xw_mpi.type_size_x(type, &size);
    else if (xw_mpi.type_size && !xw_mpi.type_size(type, &small))
        size = small;
    if (size < 0)
        size = 0;
    if (size < 0x10000 && type >> 48 == 0 && xw_mpi.kind != XW_MPI_MPICH && is_predefined(type))
        __atomic_store_n(&xw_mpi_type_cache[xw_mpi_type_slot(type)], type << 16 | (uint64_t)size, __ATOMIC_RELAXED);
    return (uint64_t)size;
}

static int is_world(xw_word comm) { return xw_mpi.ranks && xw_mpi_same_handle(comm, xw_mpi.world); }

static int is_inter(xw_word comm)
{
    int32_t inter = 0;
    return !is_world(comm) && xw_mpi.comm_test_inter && !xw_mpi.comm_test_inter(comm, &inter) && inter;
}

int64_t xw_mpi_group_size(xw_word comm)
{
    int32_t size = 0;
    if (is_world(comm))
        return xw_mpi.ranks;
    return xw_mpi.comm_size(comm, &size) ? 0 : size;
}

int64_t xw_mpi_peers(xw_word comm)
{
    if (!is_inter(comm))
        return xw_mpi_group_size(comm);
    int32_t size = 0;
    return !xw_mpi.comm_remote_size || xw_mpi.comm_remote_size(comm, &size) ? 0 : size;
}

int64_t xw_mpi_sum(xw_word array, int64_t n)
{
    const int32_t *counts = (const int32_t *)array;
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

uint64_t xw_mpi_sum_types(xw_word counts, xw_word types, int64_t n)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        xw_word type = xw_mpi.handle_size == 8 ? ((const uint64_t *)types)[i] : ((const uint32_t *)types)[i];
        sum += xw_mpi_times_type(((const int32_t *)counts)[i], type);
    }
    return sum;
}

static int32_t rank_in(xw_word comm)
{
    int32_t rank = -1;
    if (is_world(comm))
        return xw_mpi.rank;
    return xw_mpi.comm_rank(comm, &rank) ? -1 : rank;
}

int64_t xw_mpi_own(xw_word array, xw_word comm)
{
    int32_t rank = is_inter(comm) ? -1 : rank_in(comm);
    return rank < 0 ? 0 : ((const int32_t *)array)[rank];
}

int xw_mpi_is_root(xw_word root, xw_word comm)
{
    int32_t rank = xw_mpi_int(root);
    return rank == xw_mpi.root || (rank >= 0 && rank == rank_in(comm) && !is_inter(comm));
}

int xw_mpi_is_world_sized(xw_word comm)
{
    return xw_mpi.ranks && xw_mpi_group_size(comm) == xw_mpi.ranks && !is_inter(comm);
}

uint64_t xw_mpi_received(xw_word status)
{
    int64_t bytes = 0;
    int32_t small = 0;
    if (xw_mpi.get_elements_x) {
        if (xw_mpi.get_elements_x(status, xw_mpi.type_byte, &bytes))
            bytes = 0;
    } else if (xw_mpi.get_count && !xw_mpi.get_count(status, xw_mpi.type_byte, &small)) {
        bytes = small;
    }
    return bytes > 0 ? (uint64_t)bytes : 0;
}
