#include "abi.h"

#include "loaded.h"
#include "resolve.h"
#include "text.h"

struct xw_mpi xw_mpi;

/*
 * Which ABI: Open MPI has its own names for predefined objects, libraries with MPICH's ABI (Intel MPI, Cray, MVAPICH)
 * its name for MPI_DUP_FN; the library of the MPI-5 standard ABI is called libmpi_abi. Any other MPI is left alone: its
 * constants are not known. The soname alone would not tell them apart.
 */
static enum xw_mpi_kind which_kind(void)
{
    static const char abi5_prefix[] = "libmpi_abi";
    char file[sizeof abi5_prefix]; /* cut to the length of the prefix */
    if (!xw_mpi_library_name(file, sizeof file))
        return XW_MPI_NONE;
    if (xw_mpi_resolve_one("ompi_mpi_comm_world", XW_MPI_LIBRARY))
        return XW_MPI_OPENMPI;
    if (xw_equal(file, abi5_prefix))
        return XW_MPI_ABI5;
    return xw_mpi_resolve_one("MPIR_Dup_fn", XW_MPI_LIBRARY) ? XW_MPI_MPICH : XW_MPI_NONE;
}

/* Functions are taken by their profiling names; a library without one of them has NULL there. */
static void find_functions(struct xw_mpi *mpi)
{
#define XW_FUNCTION(field, name)                                                                                       \
    {                                                                                                                  \
        "PMPI_" name, xw_elf_hash("PMPI_" name), (void **)&mpi->field                                                  \
    }
    struct xw_mpi_symbol symbols[] = {
        XW_FUNCTION(comm_rank, "Comm_rank"),
        XW_FUNCTION(comm_size, "Comm_size"),
        XW_FUNCTION(comm_test_inter, "Comm_test_inter"),
        XW_FUNCTION(comm_remote_size, "Comm_remote_size"),
        XW_FUNCTION(topo_test, "Topo_test"),
        XW_FUNCTION(cartdim_get, "Cartdim_get"),
        XW_FUNCTION(cart_shift, "Cart_shift"),
        XW_FUNCTION(graph_neighbors_count, "Graph_neighbors_count"),
        XW_FUNCTION(dist_graph_neighbors_count, "Dist_graph_neighbors_count"),
        XW_FUNCTION(type_size, "Type_size"),
        XW_FUNCTION(type_size_x, "Type_size_c"),
        XW_FUNCTION(type_size_x, "Type_size_x"), /* the older name of the same */
        XW_FUNCTION(type_get_envelope, "Type_get_envelope"),
        XW_FUNCTION(type_get_envelope_c, "Type_get_envelope_c"),
        XW_FUNCTION(get_count, "Get_count"),
        XW_FUNCTION(get_elements_x, "Get_elements_c"),
        XW_FUNCTION(get_elements_x, "Get_elements_x"), /* the older name of the same */
        XW_FUNCTION(comm_get_errhandler, "Comm_get_errhandler"),
        XW_FUNCTION(comm_set_errhandler, "Comm_set_errhandler"),
        XW_FUNCTION(errhandler_free, "Errhandler_free"),
        XW_FUNCTION(ireduce, "Ireduce"),
        XW_FUNCTION(test, "Test"),
    };
#undef XW_FUNCTION
    xw_mpi_resolve(symbols, sizeof symbols / sizeof symbols[0], XW_MPI_LIBRARY);
}

/* Open MPI's predefined objects are variables. An executable may hold the copy that counts, so the first definition in
 * load order. */
static void find_objects(struct xw_mpi *mpi)
{
#define XW_OBJECT(field, name)                                                                                         \
    {                                                                                                                  \
        name, xw_elf_hash(name), (void **)&mpi->field                                                                  \
    }
    struct xw_mpi_symbol symbols[] = {
        XW_OBJECT(world, "ompi_mpi_comm_world"),      XW_OBJECT(comm_null, "ompi_mpi_comm_null"),
        XW_OBJECT(type_byte, "ompi_mpi_byte"),        XW_OBJECT(type_double, "ompi_mpi_double"),
        XW_OBJECT(op_max, "ompi_mpi_op_max"),         XW_OBJECT(op_sum, "ompi_mpi_op_sum"),
        XW_OBJECT(request_null, "ompi_request_null"), XW_OBJECT(errors_return, "ompi_mpi_errors_return"),
    };
#undef XW_OBJECT
    xw_mpi_resolve(symbols, sizeof symbols / sizeof symbols[0], XW_MPI_FIRST);
}

static const struct xw_mpi openmpi = {
    .kind = XW_MPI_OPENMPI,
    .name = "openmpi",
    .handle_size = 8,
    .handle_mask = ~UINT64_C(0),
    .in_place = 1,
    .status_ignore = 0,
    .proc_null = -2,
    .root = -4,
    .combiner_named = 0,
    .topo_cart = 1,
    .topo_graph = 2,
    .topo_dist_graph = 3,
};

static const struct xw_mpi mpich = {
    .kind = XW_MPI_MPICH,
    .name = "mpich",
    .handle_size = 4,
    .handle_mask = 0xffffffff,
    .in_place = ~UINT64_C(0),
    .status_ignore = 1,
    .proc_null = -1,
    .root = -3,
    .combiner_named = 1,
    .topo_cart = 2,
    .topo_graph = 1,
    .topo_dist_graph = 3,
    .world = 0x44000000,
    .comm_null = 0x04000000,
    .type_byte = 0x4c00010d,
    .type_double = 0x4c00080b,
    .op_max = 0x58000001,
    .op_sum = 0x58000003,
    .request_null = 0x2c000000,
    .errors_return = 0x54000001,
};

static const struct xw_mpi abi5 = {
    .kind = XW_MPI_ABI5,
    .name = "mpi5",
    .handle_size = 8,
    .handle_mask = ~UINT64_C(0),
    .in_place = 1,
    .status_ignore = 0,
    .proc_null = -3,
    .root = -4,
    .combiner_named = 101,
    .topo_cart = 211,
    .topo_graph = 212,
    .topo_dist_graph = 213,
    .world = 0x101,
    .comm_null = 0x100,
    .type_byte = 0x247,
    .type_double = 0x214,
    .op_max = 0x23,
    .op_sum = 0x21,
    .request_null = 0x180,
    .errors_return = 0x143,
};

int xw_mpi_detect(void)
{
    if (xw_mpi.kind != XW_MPI_NONE)
        return 1;
    enum xw_mpi_kind kind = which_kind();
    if (kind == XW_MPI_NONE)
        return 0;
    struct xw_mpi mpi = kind == XW_MPI_OPENMPI ? openmpi : kind == XW_MPI_MPICH ? mpich : abi5;
    find_functions(&mpi);
    if (kind == XW_MPI_OPENMPI)
        find_objects(&mpi);
    if (!mpi.comm_rank || !mpi.comm_size || !mpi.world)
        return 0;
    xw_mpi = mpi;
    return 1;
}
