/* Another tool that wraps Fortran names, as those of compilers that append an underscore; says what it counted. */
#include <stdio.h>
#include <unistd.h>

void pmpi_allreduce_(void *in, void *out, int *count, int *type, int *op, int *comm, int *error);
void pmpi_send_(void *data, int *count, int *type, int *dest, int *tag, int *comm, int *error);
void pmpi_finalize_(int *error);

void mpi_allreduce_(void *in, void *out, int *count, int *type, int *op, int *comm, int *error);
void mpi_send_(void *data, int *count, int *type, int *dest, int *tag, int *comm, int *error);
void mpi_finalize_(int *error);

static int n_allreduce, n_send;

void mpi_allreduce_(void *in, void *out, int *count, int *type, int *op, int *comm, int *error)
{
    n_allreduce++;
    pmpi_allreduce_(in, out, count, type, op, comm, error);
}

void mpi_send_(void *data, int *count, int *type, int *dest, int *tag, int *comm, int *error)
{
    n_send++;
    pmpi_send_(data, count, type, dest, tag, comm, error);
}

void mpi_finalize_(int *error)
{
    char line[64];
    int n = snprintf(line, sizeof line, "tool: %d MPI_Allreduce, %d MPI_Send\n", n_allreduce, n_send);
    if (write(1, line, (size_t)n) == n)
        pmpi_finalize_(error);
}
