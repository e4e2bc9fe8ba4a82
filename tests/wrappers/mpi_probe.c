/* An MPI program that asks for a function which its MPI library does not have; calls one through a pointer in data. */
#include <mpi.h>
#include <stdio.h>

#pragma weak MPI_Function_of_the_future
int MPI_Function_of_the_future(void);

static int (*const pointers[])(MPI_Comm) = {MPI_Barrier};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (MPI_Function_of_the_future)
        return 1;
    for (int i = 0; i < 5; i++)
        pointers[0](MPI_COMM_WORLD);
    fputs("not there\n", stdout); /* puts would write the line end apart, and ranks get mixed */
    return MPI_Finalize();
}
