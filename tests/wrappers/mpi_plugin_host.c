/* A program without MPI that opens a plug-in with MPI, as Python does: RTLD_LOCAL, so that no global lookup finds it.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*run)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "run") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    if (dlsym(RTLD_DEFAULT, "MPI_Comm_rank") || !dlerror())
        return 3; /* not local after all: the test would prove nothing */
    return run(argc, argv);
}
