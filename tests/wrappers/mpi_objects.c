/* Calls that move nothing: groups, communicators, topologies, datatypes, attributes, errors, info, ports; names that
 * the standard has removed. */
#include "mpi_expect.h"

#ifdef OPEN_MPI /* its header hides what its library has */
#undef MPI_Address
#undef MPI_Errhandler_create
#undef MPI_Errhandler_get
#undef MPI_Errhandler_set
#undef MPI_Type_extent
#undef MPI_Type_hindexed
#undef MPI_Type_hvector
#undef MPI_Type_lb
#undef MPI_Type_struct
#undef MPI_Type_ub
int MPI_Address(void *location, MPI_Aint *address);
int MPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *handler);
int MPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *handler);
int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_hindexed(int count, int lengths[], MPI_Aint places[], MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *place);
int MPI_Type_struct(int count, int lengths[], MPI_Aint places[], MPI_Datatype types[], MPI_Datatype *type);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *place);
#endif
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int rank, size;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void sum(void *in, void *inout, count_t *n, MPI_Datatype *type)
{
    (void)type;
    for (count_t i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void groups(void)
{
    MPI_Group all, first, rest, joined, common;
    int zero = 0, translated, result, n, range[1][3] = {{0, size - 1, 1}};
    DO(MPI_Comm_group, 0, 0, MPI_COMM_WORLD, &all);
    DO(MPI_Group_incl, 0, 0, all, 1, &zero, &first);
    DO(MPI_Group_excl, 0, 0, all, 1, &zero, &rest);
    DO(MPI_Group_union, 0, 0, first, rest, &joined);
    DO(MPI_Group_intersection, 0, 0, all, first, &common);
    DO(MPI_Group_compare, 0, 0, common, first, &result);
    DO(MPI_Group_free, 0, 0, &common);
    DO(MPI_Group_range_incl, 0, 0, all, 1, range, &common);
    DO(MPI_Group_free, 0, 0, &common);
    DO(MPI_Group_range_excl, 0, 0, all, 1, range, &common);
    DO(MPI_Group_translate_ranks, 0, 0, first, 1, &zero, all, &translated);
    DO(MPI_Group_size, 0, 0, joined, &n);
    DO(MPI_Group_rank, 0, 0, joined, &n);
    DO(MPI_Group_free, 0, 0, &first);
    DO(MPI_Group_free, 0, 0, &rest);
    DO(MPI_Group_free, 0, 0, &joined);
    DO(MPI_Group_free, 0, 0, &all);
}

static void communicators(void)
{
    MPI_Comm copy, parent, node;
    MPI_Request request;
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
    int result, length;
    DO(MPI_Comm_dup, 0, 0, MPI_COMM_WORLD, &copy);
    DO(MPI_Comm_compare, 0, 0, copy, MPI_COMM_WORLD, &result);
    DO(MPI_Comm_set_name, 0, 0, copy, "copy");
    DO(MPI_Comm_get_name, 0, 0, copy, name, &length);
    DO(MPI_Comm_get_info, 0, 0, copy, &info);
    DO(MPI_Comm_set_info, 0, 0, copy, info);
    DO(MPI_Info_free, 0, 0, &info);
    DO(MPI_Comm_test_inter, 0, 0, copy, &result);
    DO(MPI_Comm_free, 0, 0, &copy);
    DO(MPI_Comm_idup, 0, 0, MPI_COMM_WORLD, &copy, &request);
    DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE);
    DO(MPI_Comm_disconnect, 0, 0, &copy);
    DO(MPI_Comm_split_type, 0, 0, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    DO(MPI_Comm_free, 0, 0, &node);
    DO(MPI_Comm_get_parent, 0, 0, &parent);
}

static void topologies(void)
{
    int sides[2] = {0, 0}, closed[2] = {1, 0}, at[2], kind, n, below, above, other;
    int neighbours[2], index[64], edges[64];
    MPI_Comm grid, row, graph;
    DO(MPI_Dims_create, 0, 0, size, 2, sides);
    DO(MPI_Cart_create, 0, 0, MPI_COMM_WORLD, 2, sides, closed, 0, &grid);
    DO(MPI_Topo_test, 0, 0, grid, &kind);
    DO(MPI_Cartdim_get, 0, 0, grid, &n);
    DO(MPI_Cart_get, 0, 0, grid, 2, sides, closed, at);
    DO(MPI_Cart_coords, 0, 0, grid, rank, 2, at);
    DO(MPI_Cart_rank, 0, 0, grid, at, &other);
    DO(MPI_Cart_shift, 0, 0, grid, 0, 1, &below, &above);
    DO(MPI_Cart_map, 0, 0, MPI_COMM_WORLD, 2, sides, closed, &other);
    DO(MPI_Cart_sub, 0, 0, grid, closed, &row);
    DO(MPI_Comm_free, 0, 0, &row);
    DO(MPI_Comm_free, 0, 0, &grid);
    for (int r = 0; r < size; r++) { /* a ring by its edges */
        index[r] = r + 1;
        edges[r] = (r + 1) % size;
    }
    DO(MPI_Graph_create, 0, 0, MPI_COMM_WORLD, size, index, edges, 0, &graph);
    DO(MPI_Graphdims_get, 0, 0, graph, &n, &other);
    DO(MPI_Graph_get, 0, 0, graph, size, size, index, edges);
    DO(MPI_Graph_neighbors_count, 0, 0, graph, rank, &n);
    DO(MPI_Graph_neighbors, 0, 0, graph, rank, n, neighbours);
    DO(MPI_Graph_map, 0, 0, MPI_COMM_WORLD, size, index, edges, &other);
    DO(MPI_Comm_free, 0, 0, &graph);
}

#ifdef LARGE
typedef MPI_Count extent_t;
#else
typedef MPI_Aint extent_t;
#endif

static void datatypes(void)
{
    MPI_Datatype type, parts[2] = {MPI_INT, MPI_DOUBLE}, found[2];
    count_t lengths[2] = {1, 2}, places[2] = {0, 4}, n[3], numbers[8];
    count_t sides[2] = {4, 4}, part[2] = {2, 2}, from[2] = {1, 1}, bytes;
    extent_t byte_places[2] = {0, 8}, lower, extent;
    MPI_Aint addresses[8], address;
    MPI_Count x, y;
    int combiner, length;
    char name[MPI_MAX_OBJECT_NAME];
    DO_N(MPI_Type_contiguous, 0, 0, 3, MPI_INT, &type);
    DO_N(MPI_Type_size, 0, 0, type, &bytes);
    DO_N(MPI_Type_get_extent, 0, 0, type, &lower, &extent);
    DO_N(MPI_Type_get_true_extent, 0, 0, type, &lower, &extent);
    DO(MPI_Type_size_x, 0, 0, type, &x);
    DO(MPI_Type_get_extent_x, 0, 0, type, &x, &y);
    DO(MPI_Type_get_true_extent_x, 0, 0, type, &x, &y);
#ifdef LARGE
    MPI_Count large[8], n_large;
    expect("MPI_Type_get_envelope", 0, 0);
    check("MPI_Type_get_envelope_c", MPI_Type_get_envelope_c(type, &n[0], &n[1], &n_large, &n[2], &combiner));
    expect("MPI_Type_get_contents", 0, 0);
    check("MPI_Type_get_contents_c", MPI_Type_get_contents_c(type, n[0], n[1], n_large, n[2], (int *)numbers, addresses,
                                                             large, found)); /* nine arguments */
#else
    DO(MPI_Type_get_envelope, 0, 0, type, &n[0], &n[1], &n[2], &combiner);
    DO(MPI_Type_get_contents, 0, 0, type, n[0], n[1], n[2], numbers, addresses, found);
#endif
    DO(MPI_Type_set_name, 0, 0, type, "three");
    DO(MPI_Type_get_name, 0, 0, type, name, &length);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_hvector, 0, 0, 2, 1, 16, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_indexed, 0, 0, 2, lengths, places, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_hindexed, 0, 0, 2, lengths, byte_places, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_indexed_block, 0, 0, 2, 1, places, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_hindexed_block, 0, 0, 2, 1, byte_places, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_struct, 0, 0, 2, lengths, byte_places, parts, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_subarray, 0, 0, 2, sides, part, from, MPI_ORDER_C, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO_N(MPI_Type_create_resized, 0, 0, MPI_INT, 0, 16, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO(MPI_Type_dup, 0, 0, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO(MPI_Get_address, 0, 0, &type, &address);
}

static void packing(void)
{
    int numbers[4] = {1, 2, 3, 4}, sums[4] = {0}, commutes;
    char packed[64];
    count_t position = 0, bytes;
    MPI_Aint outside = 0, outside_bytes;
    MPI_Op op;
    DO_N(MPI_Pack_size, 0, 0, 4, MPI_INT, MPI_COMM_WORLD, &bytes);
    DO_N(MPI_Pack, 0, 0, numbers, 4, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    position = 0;
    DO_N(MPI_Unpack, 0, 0, packed, sizeof packed, &position, numbers, 4, MPI_INT, MPI_COMM_WORLD);
#ifndef LARGE
    DO(MPI_Pack_external_size, 0, 0, "external32", 4, MPI_INT, &outside_bytes);
    DO(MPI_Pack_external, 0, 0, "external32", numbers, 4, MPI_INT, packed, sizeof packed, &outside);
    outside = 0;
    DO(MPI_Unpack_external, 0, 0, "external32", packed, outside_bytes, &outside, numbers, 4, MPI_INT);
#else
    (void)outside, (void)outside_bytes;
#endif
    DO_N(MPI_Op_create, 0, 0, sum, 1, &op);
    DO(MPI_Op_commutative, 0, 0, op, &commutes);
    DO_N(MPI_Reduce_local, 0, 0, numbers, sums, 4, MPI_INT, op);
    DO(MPI_Op_free, 0, 0, &op);
}

/* A call that fails is a call without bytes. Some builds of MPICH do not look at arguments; Open MPI 4.1 does not
 * notice that a file system is full. */
static void fail(void)
{
    int number = 7;
#ifdef OPEN_MPI
    expect("MPI_Send", 0, 0);
    if (MPI_Send(&number, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
        exit(5);
#else
    MPI_File full;
    DO(MPI_File_open, 0, 0, MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &full);
    expect("MPI_File_write", 0, 0);
    if (MPI_File_write(full, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        exit(5);
    DO(MPI_File_close, 0, 0, &full);
#endif
}

static void attributes_and_errors(void)
{
    int key, there, class, code, length, number = 7;
    char text[MPI_MAX_ERROR_STRING];
    void *value;
    MPI_Errhandler handler, before;
    DO(MPI_Comm_create_keyval, 0, 0, MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    DO(MPI_Comm_set_attr, 0, 0, MPI_COMM_WORLD, key, &number);
    DO(MPI_Comm_get_attr, 0, 0, MPI_COMM_WORLD, key, &value, &there);
    DO(MPI_Comm_delete_attr, 0, 0, MPI_COMM_WORLD, key);
    DO(MPI_Comm_free_keyval, 0, 0, &key);
    DO(MPI_Comm_create_errhandler, 0, 0, on_error, &handler);
    DO(MPI_Comm_get_errhandler, 0, 0, MPI_COMM_WORLD, &before);
    DO(MPI_Comm_set_errhandler, 0, 0, MPI_COMM_WORLD, handler);
    DO(MPI_Add_error_class, 0, 0, &class);
    DO(MPI_Add_error_code, 0, 0, class, &code);
    DO(MPI_Add_error_string, 0, 0, code, "ours");
    DO(MPI_Error_class, 0, 0, code, &class);
    DO(MPI_Error_string, 0, 0, code, text, &length);
    DO(MPI_Comm_call_errhandler, 0, 0, MPI_COMM_WORLD, code);
    fail();
    DO(MPI_Comm_set_errhandler, 0, 0, MPI_COMM_WORLD, before);
    DO(MPI_Errhandler_free, 0, 0, &handler);
    DO(MPI_Errhandler_free, 0, 0, &before);
}

static void info_and_ports(void)
{
    MPI_Info info, copy;
    char text[64];
    int n, there;
    void *memory;
    MPI_Request request;
    MPI_Status status;
    DO(MPI_Info_create, 0, 0, &info);
    DO(MPI_Info_set, 0, 0, info, "key", "value");
    DO(MPI_Info_get, 0, 0, info, "key", 63, text, &there);
    DO(MPI_Info_get_nkeys, 0, 0, info, &n);
    DO(MPI_Info_get_nthkey, 0, 0, info, 0, text);
    DO(MPI_Info_get_valuelen, 0, 0, info, "key", &n, &there);
    DO(MPI_Info_dup, 0, 0, info, &copy);
    DO(MPI_Info_delete, 0, 0, copy, "key");
    DO(MPI_Info_free, 0, 0, &copy);
    DO(MPI_Info_free, 0, 0, &info);
    DO(MPI_Alloc_mem, 0, 0, 4096, MPI_INFO_NULL, &memory);
    DO(MPI_Free_mem, 0, 0, memory);
    DO_N(MPI_Irecv, 0, 4, &n, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, &request);
    DO(MPI_Cancel, 0, 0, &request);
    DO(MPI_Wait, 0, 0, &request, &status);
    DO(MPI_Test_cancelled, 0, 0, &status, &there);
#ifdef OPEN_MPI /* Debian's MPICH has no ports: its transport does not support them */
    char port[MPI_MAX_PORT_NAME];
    DO(MPI_Open_port, 0, 0, MPI_INFO_NULL, port);
    DO(MPI_Close_port, 0, 0, port);
#endif
}

static void removed_names(void)
{
#ifndef MPI_ABI /* Intel's library for the MPI-5 ABI does not have them any more */
    int key, there, number = 7, lengths[1] = {2};
    void *value;
    MPI_Aint address, places[1] = {0};
    MPI_Datatype type, types[1] = {MPI_INT};
    MPI_Errhandler handler, before;
    DO(MPI_Keyval_create, 0, 0, MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL);
    DO(MPI_Attr_put, 0, 0, MPI_COMM_WORLD, key, &number);
    DO(MPI_Attr_get, 0, 0, MPI_COMM_WORLD, key, &value, &there);
    DO(MPI_Attr_delete, 0, 0, MPI_COMM_WORLD, key);
    DO(MPI_Keyval_free, 0, 0, &key);
    DO(MPI_Errhandler_create, 0, 0, on_error, &handler);
    DO(MPI_Errhandler_get, 0, 0, MPI_COMM_WORLD, &before);
    DO(MPI_Errhandler_set, 0, 0, MPI_COMM_WORLD, before);
    DO(MPI_Errhandler_free, 0, 0, &handler);
    DO(MPI_Errhandler_free, 0, 0, &before);
    DO(MPI_Address, 0, 0, &number, &address);
    DO(MPI_Type_extent, 0, 0, MPI_INT, &address);
    DO(MPI_Type_lb, 0, 0, MPI_INT, &address);
    DO(MPI_Type_ub, 0, 0, MPI_INT, &address);
    DO(MPI_Type_hindexed, 0, 0, 1, lengths, places, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO(MPI_Type_hvector, 0, 0, 2, 1, 8, MPI_INT, &type);
    DO(MPI_Type_free, 0, 0, &type);
    DO(MPI_Type_struct, 0, 0, 1, lengths, places, types, &type);
    DO(MPI_Type_free, 0, 0, &type);
#endif
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    groups();
    communicators();
    topologies();
    datatypes();
    packing();
    attributes_and_errors();
    info_and_ports();
    removed_names();
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
