/* Calls that ask: statuses, requests, the library; and what objects other than communicators have in the way of
 * attributes and error handlers. The second argument names a file. */
#include "mpi_expect.h"

static int rank, size;

static void library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    int flag, major, minor, length, provided;
    DO(MPI_Initialized, 0, 0, &flag);
    DO(MPI_Finalized, 0, 0, &flag);
    DO(MPI_Query_thread, 0, 0, &provided);
    DO(MPI_Is_thread_main, 0, 0, &flag);
    DO(MPI_Get_version, 0, 0, &major, &minor);
    DO(MPI_Get_library_version, 0, 0, text, &length);
    DO(MPI_Get_processor_name, 0, 0, name, &length);
}

static void statuses(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count elements;
    count_t count;
    int flag = 0, index, indices[2], done;
    const int number = 1, right = (rank + 1) % size, left = (rank + size - 1) % size;
    int room[2];
    DO_N(MPI_Irecv, 0, 8, room, 2, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    DO_N(MPI_Isend, 4, 0, &number, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
    while (!flag)
        DO(MPI_Request_get_status, 0, 0, requests[0], &flag, &status);
    DO(MPI_Testany, 0, 0, 2, requests, &index, &flag, &status);
    for (done = 0; done != MPI_UNDEFINED;)
        DO(MPI_Testsome, 0, 0, 2, requests, &done, indices, MPI_STATUSES_IGNORE);
    DO_N(MPI_Get_count, 0, 0, &status, MPI_INT, &count);
    DO_N(MPI_Get_elements, 0, 0, &status, MPI_INT, &count);
    DO(MPI_Get_elements_x, 0, 0, &status, MPI_INT, &elements);
    DO(MPI_Status_set_cancelled, 0, 0, &status, 0);
    DO(MPI_Status_set_elements, 0, 0, &status, MPI_INT, 2);
    DO(MPI_Status_set_elements_x, 0, 0, &status, MPI_INT, 2);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    PMPI_Status_set_cancelled(status, 0); /* inside another call: not counted */
    return PMPI_Status_set_elements(status, MPI_INT, 0);
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalised_requests(void)
{
    MPI_Request request;
    DO(MPI_Grequest_start, 0, 0, query, release, cancel, NULL, &request);
    DO(MPI_Grequest_complete, 0, 0, request);
    DO(MPI_Wait, 0, 0, &request, MPI_STATUS_IGNORE);
}

static void communicators(void)
{
    MPI_Comm half, bridge, whole, copy, graph;
    MPI_Group all, first, remote;
    const int colour = rank % 2, next = (rank + 1) % size, one = 1;
    int n, in, out, weighted, source, destination;
    DO(MPI_Comm_split, 0, 0, MPI_COMM_WORLD, colour, rank, &half);
    DO(MPI_Intercomm_create, 0, 0, half, 0, MPI_COMM_WORLD, 1 - colour, 1, &bridge);
    DO(MPI_Comm_remote_size, 0, 0, bridge, &n);
    DO(MPI_Comm_remote_group, 0, 0, bridge, &remote);
    DO(MPI_Intercomm_merge, 0, 0, bridge, colour, &whole);
    DO(MPI_Comm_group, 0, 0, whole, &all);
    DO(MPI_Group_difference, 0, 0, all, remote, &first);
    DO(MPI_Comm_create_group, 0, 0, whole, first, colour, &copy);
    DO(MPI_Comm_free, 0, 0, &copy);
    DO(MPI_Comm_create, 0, 0, whole, all, &copy);
    DO(MPI_Comm_free, 0, 0, &copy);
    DO(MPI_Comm_dup_with_info, 0, 0, whole, MPI_INFO_NULL, &copy);
    DO(MPI_Comm_free, 0, 0, &copy);
    DO(MPI_Dist_graph_create, 0, 0, MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &graph);
    DO(MPI_Dist_graph_neighbors_count, 0, 0, graph, &in, &out, &weighted);
    DO(MPI_Dist_graph_neighbors, 0, 0, graph, in, &source, &n, out, &destination, &weighted);
    DO(MPI_Comm_free, 0, 0, &graph);
    DO(MPI_Group_free, 0, 0, &all);
    DO(MPI_Group_free, 0, 0, &first);
    DO(MPI_Group_free, 0, 0, &remote);
    DO(MPI_Comm_free, 0, 0, &whole);
    DO(MPI_Comm_free, 0, 0, &bridge);
    DO(MPI_Comm_free, 0, 0, &half);
}

static void datatypes(void)
{
    MPI_Datatype type, own;
    int key, there, number = 7;
    void *value;
    DO(MPI_Type_match_size, 0, 0, MPI_TYPECLASS_REAL, 8, &type);
    DO(MPI_Type_create_f90_real, 0, 0, 12, MPI_UNDEFINED, &type);
    DO(MPI_Type_create_f90_integer, 0, 0, 8, &type);
    DO(MPI_Type_create_f90_complex, 0, 0, 12, MPI_UNDEFINED, &type);
    DO(MPI_Type_dup, 0, 0, MPI_INT, &own);
    DO(MPI_Type_create_keyval, 0, 0, MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    DO(MPI_Type_set_attr, 0, 0, own, key, &number);
    DO(MPI_Type_get_attr, 0, 0, own, key, &value, &there);
    DO(MPI_Type_delete_attr, 0, 0, own, key);
    DO(MPI_Type_free_keyval, 0, 0, &key);
    DO(MPI_Type_free, 0, 0, &own);
}

static void on_window_error(MPI_Win *window, int *code, ...)
{
    (void)window;
    (void)code;
}

static void windows(void)
{
    MPI_Win window;
    MPI_Errhandler handler, before;
    int key, there, number = 7;
    void *value;
    DO_N(MPI_Win_create, 0, 0, &number, sizeof number, sizeof number, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    DO(MPI_Win_create_keyval, 0, 0, MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    DO(MPI_Win_set_attr, 0, 0, window, key, &number);
    DO(MPI_Win_get_attr, 0, 0, window, key, &value, &there);
    DO(MPI_Win_delete_attr, 0, 0, window, key);
    DO(MPI_Win_free_keyval, 0, 0, &key);
    DO(MPI_Win_create_errhandler, 0, 0, on_window_error, &handler);
    DO(MPI_Win_get_errhandler, 0, 0, window, &before);
    DO(MPI_Win_set_errhandler, 0, 0, window, handler);
    DO(MPI_Win_call_errhandler, 0, 0, window, MPI_ERR_OTHER);
    DO(MPI_Errhandler_free, 0, 0, &handler);
    DO(MPI_Errhandler_free, 0, 0, &before);
    DO(MPI_Win_free, 0, 0, &window);
}

static void on_file_error(MPI_File *file, int *code, ...)
{
    (void)file;
    (void)code;
}

static void files(const char *path)
{
    MPI_File file;
    MPI_Errhandler handler, before;
    DO(MPI_File_open, 0, 0, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    DO(MPI_File_create_errhandler, 0, 0, on_file_error, &handler);
    DO(MPI_File_get_errhandler, 0, 0, file, &before);
    DO(MPI_File_set_errhandler, 0, 0, file, handler);
    DO(MPI_File_call_errhandler, 0, 0, file, MPI_ERR_OTHER);
    DO(MPI_File_set_errhandler, 0, 0, file, before);
    DO(MPI_Errhandler_free, 0, 0, &handler);
    DO(MPI_File_close, 0, 0, &file);
}

int main(int argc, char **argv)
{
    DO(MPI_Init, 0, 0, &argc, &argv);
    DO(MPI_Comm_rank, 0, 0, MPI_COMM_WORLD, &rank);
    DO(MPI_Comm_size, 0, 0, MPI_COMM_WORLD, &size);
    library();
    statuses();
    generalised_requests();
    communicators();
    datatypes();
    windows();
    files(argv[2]);
    expect("MPI_Finalize", 0, 0);
    write_expectations(argv[1], rank);
    return MPI_Finalize();
}
