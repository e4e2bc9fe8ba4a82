#include "bytes.h"

uint64_t xw_mpi_type_cache[XW_MPI_TYPE_CACHE];

/* --- datatypes --- */

/* For a type that was made with large counts the plain form is an error, which ends the program: it is asked only where
 * there are no such types. */
static int is_predefined(xw_word type)
{
    int64_t large[4];
    int32_t plain[3], combiner = -1;
    if (xw_mpi.type_get_envelope_c)
        xw_mpi.type_get_envelope_c(type, &large[0], &large[1], &large[2], &large[3], &combiner);
    else if (xw_mpi.type_get_envelope)
        xw_mpi.type_get_envelope(type, &plain[0], &plain[1], &plain[2], &combiner);
    return combiner == xw_mpi.combiner_named;
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

/* --- communicators --- */

static int is_world(xw_word comm) { return xw_mpi.ranks && xw_mpi_same_handle(comm, xw_mpi.world); }

static int is_inter(xw_word comm)
{
    int32_t inter = 0;
    return !is_world(comm) && xw_mpi.comm_test_inter && !xw_mpi.comm_test_inter(comm, &inter) && inter;
}

static int32_t size_of(xw_word comm)
{
    int32_t size = 0;
    if (is_world(comm))
        return xw_mpi.ranks;
    return xw_mpi.comm_size(comm, &size) ? 0 : size;
}

static int32_t rank_in(xw_word comm)
{
    int32_t rank = -1;
    if (is_world(comm))
        return xw_mpi.rank;
    return xw_mpi.comm_rank(comm, &rank) ? -1 : rank;
}

struct xw_mpi_set xw_mpi_group(xw_word comm) { return (struct xw_mpi_set){.n = size_of(comm)}; }

struct xw_mpi_set xw_mpi_peers(xw_word comm)
{
    if (!is_inter(comm))
        return xw_mpi_group(comm);
    int32_t size = 0;
    if (!xw_mpi.comm_remote_size || xw_mpi.comm_remote_size(comm, &size))
        size = 0;
    return (struct xw_mpi_set){.n = size};
}

int xw_mpi_is_root(xw_word root, xw_word comm)
{
    int32_t rank = xw_mpi_int(root);
    return rank == xw_mpi.root || (rank >= 0 && rank == rank_in(comm) && !is_inter(comm));
}

/* MPI_COMM_NULL is not asked for its size: the error handler would hear of it, and of the call itself again. */
int xw_mpi_is_world_sized(xw_word comm)
{
    return xw_mpi.ranks && !xw_mpi_same_handle(comm, xw_mpi.comm_null) && size_of(comm) == xw_mpi.ranks &&
           !is_inter(comm);
}

/* --- neighbours --- */

/* Two in each dimension, first the one below; at the edge of a grid that is not periodic there is none. */
static struct xw_mpi_set grid_neighbours(xw_word comm)
{
    int32_t dimensions = 0;
    struct xw_mpi_set set = {0};
    if (!xw_mpi.cartdim_get || !xw_mpi.cart_shift || xw_mpi.cartdim_get(comm, &dimensions))
        return set;
    for (int32_t d = 0; d < dimensions; d++) {
        int32_t ranks[2];
        if (xw_mpi.cart_shift(comm, (xw_word)d, 1, &ranks[0], &ranks[1]))
            break;
        for (unsigned side = 0; side < 2; side++, set.n++)
            if (ranks[side] == xw_mpi.proc_null) {
                set.n_absent++;
                set.absent |= set.n < 64 ? UINT64_C(1) << set.n : 0;
            }
    }
    return set;
}

static int32_t graph_neighbours(xw_word comm)
{
    int32_t n = 0;
    int32_t rank = rank_in(comm);
    if (!xw_mpi.graph_neighbors_count || rank < 0 || xw_mpi.graph_neighbors_count(comm, (xw_word)rank, &n))
        return 0;
    return n;
}

struct degrees {
    int32_t in, out;
};

static struct degrees dist_graph_degrees(xw_word comm)
{
    struct degrees degrees = {0, 0};
    int32_t weighted;
    if (!xw_mpi.dist_graph_neighbors_count ||
        xw_mpi.dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted))
        return (struct degrees){0, 0};
    return degrees;
}

/* Each query is made only of a communicator that has this topology: else MPI would call the program's error handler. */
static struct xw_mpi_set neighbours(xw_word comm, int outgoing)
{
    int32_t topology = -1;
    if (!xw_mpi.topo_test || xw_mpi.topo_test(comm, &topology))
        return (struct xw_mpi_set){0};
    if (topology == xw_mpi.topo_cart)
        return grid_neighbours(comm);
    if (topology == xw_mpi.topo_graph)
        return (struct xw_mpi_set){.n = graph_neighbours(comm)};
    if (topology != xw_mpi.topo_dist_graph)
        return (struct xw_mpi_set){0};
    struct degrees degrees = dist_graph_degrees(comm);
    return (struct xw_mpi_set){.n = outgoing ? degrees.out : degrees.in};
}

struct xw_mpi_set xw_mpi_sources(xw_word comm) { return neighbours(comm, 0); }
struct xw_mpi_set xw_mpi_destinations(xw_word comm) { return neighbours(comm, 1); }

/* --- arrays of counts --- */

static int64_t count_at(xw_word array, unsigned width, int64_t i)
{
    return width == 8 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

int64_t xw_mpi_sum(xw_word array, unsigned width, struct xw_mpi_set set)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < set.n; i++)
        sum += xw_mpi_has(set, i) ? count_at(array, width, i) : 0;
    return sum;
}

uint64_t xw_mpi_sum_types(xw_word counts, unsigned width, xw_word types, struct xw_mpi_set set)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < set.n; i++) {
        if (!xw_mpi_has(set, i))
            continue;
        xw_word type = xw_mpi.handle_size == 8 ? ((const uint64_t *)types)[i] : ((const uint32_t *)types)[i];
        sum += xw_mpi_times_type(count_at(counts, width, i), type);
    }
    return sum;
}

int64_t xw_mpi_own(xw_word array, unsigned width, xw_word comm)
{
    int32_t rank = is_inter(comm) ? -1 : rank_in(comm);
    return rank < 0 ? 0 : count_at(array, width, rank);
}

/* --- statuses --- */

uint64_t xw_mpi_moved(xw_word status)
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
