/*
 * Calls that fail, under an error handler of the program's own, among collectives that do not. Each rank prints how
 * often the handler was called and how many calls failed. They are made while a collective runs, which is completed
 * after each.
 */
#include "mpi_expect.h"

static int complaints, failures;

static void complain(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    complaints++;
}

#define FAIL(call)                                                                                                     \
    do {                                                                                                               \
        MPI_Request running;                                                                                           \
        check("MPI_Ibarrier", MPI_Ibarrier(MPI_COMM_WORLD, &running));                                                 \
        failures += (call) != MPI_SUCCESS;                                                                             \
        check("MPI_Wait", MPI_Wait(&running, MPI_STATUS_IGNORE));                                                      \
    } while (0)

int main(int argc, char **argv)
{
    int rank, number = 0, sum;
    MPI_Errhandler handler;
    MPI_Request request;
    check("MPI_Init", MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(complain, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    FAIL(MPI_Ibarrier(MPI_COMM_NULL, &request));
    FAIL(MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL, &request));
    FAIL(MPI_Barrier(MPI_COMM_NULL));
    FAIL(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
    FAIL(MPI_Wait(NULL, MPI_STATUS_IGNORE));
    FAIL(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE));
    FAIL(MPI_Request_free(NULL));
    printf("%d %d %d\n", rank, complaints, failures);
    return MPI_Finalize();
}
