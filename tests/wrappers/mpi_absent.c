/* A program without any MPI library that probes for MPI functions. */
#include <stdio.h>

#pragma weak MPI_Send
#pragma weak MPI_Comm_rank
#pragma weak PMPI_Allreduce
int MPI_Send(void);
int MPI_Comm_rank(void);
int PMPI_Allreduce(void);

int main(void)
{
    int (*volatile probes[])(void) = {MPI_Send, MPI_Comm_rank, PMPI_Allreduce};
    for (int i = 0; i < 3; i++)
        if (probes[i])
            return 1;
    puts("no MPI");
    return 0;
}
