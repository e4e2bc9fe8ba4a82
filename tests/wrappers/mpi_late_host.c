/*
 * Opens a plug-in that calls MPI after MPI_Init and lets it run.
 *     mpi_late_host PLUGIN          at once, by its function's name
 *     mpi_late_host PLUGIN later    by the address that it left; something of MPI is called a while after it was opened
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int (*left_by_plugin)(void); /* exported */

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
    int (*exchange)(void) = left_by_plugin;
    if (plugin && argc < 3) {
        exchange = (int (*)(void))dlsym(plugin, "exchange");
    } else if (plugin) {
        usleep(1500000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!exchange) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    int error = exchange();
    MPI_Finalize();
    return error;
}
