/* Sessions without MPI_Init, which MPI-4 brought; with the second argument "world", MPI_Init comes in between. No
 * session is opened after the last was closed: MPICH 4.0.2 crashes then. */
#include "mpi_expect.h"

static int rank, size;
static MPI_Comm comm;

static void open_session(MPI_Session *session)
{
    MPI_Group group;
    DO(MPI_Session_init, 0, 0, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
    DO(MPI_Group_from_session_pset, 0, 0, *session, "mpi://WORLD", &group);
    DO(MPI_Comm_create_from_group, 0, 0, group, "crosswind", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    DO(MPI_Group_free, 0, 0, &group);
    DO(MPI_Comm_rank, 0, 0, comm, &rank);
    DO(MPI_Comm_size, 0, 0, comm, &size);
}

static void close_session(MPI_Session *session)
{
    DO(MPI_Comm_free, 0, 0, &comm);
    DO(MPI_Session_finalize, 0, 0, session);
}

static void work(MPI_Comm on)
{
    int number = 1, sums[64];
    for (int i = 0; i < 5; i++)
        DO(MPI_Allreduce, 4, 4, &number, &sums[0], 1, MPI_INT, MPI_SUM, on);
    DO(MPI_Allgather, 4, 4 * size, &number, 1, MPI_INT, sums, 1, MPI_INT, on);
}

int main(int argc, char **argv)
{
    MPI_Session session, inner;
    const int with_world = argc > 2 && !strcmp(argv[2], "world");
    open_session(&session);
    work(comm);
    if (with_world) {
        DO(MPI_Init, 0, 0, &argc, &argv);
        work(MPI_COMM_WORLD);
    }
    DO(MPI_Session_init, 0, 0, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &inner); /* a library's */
    DO(MPI_Session_finalize, 0, 0, &inner);
    work(comm);
    close_session(&session);
    if (with_world)
        DO(MPI_Finalize, 0, 0);
    write_expectations(argv[1], rank);
    return 0;
}
