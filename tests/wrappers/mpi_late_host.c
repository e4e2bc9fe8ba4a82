/* Opens a plug-in that calls MPI after MPI_Init, calls something of MPI itself a while later, then lets the plug-in
 * run. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    int (*exchange)(void) = plugin ? (int (*)(void))dlsym(plugin, "exchange") : NULL;
    if (!exchange) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    usleep(1500000);
    MPI_Barrier(MPI_COMM_WORLD);
    int error = exchange();
    MPI_Finalize();
    return error;
}
