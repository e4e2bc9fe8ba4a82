/* plugin_host PLUGIN   Loads a library, calls it and unloads it, 200 times. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    long total = 0;
    for (int i = 0; argc == 2 && i < 200; i++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        long (*plugin_read)(const char *) = (long (*)(const char *))dlsym(plugin, "plugin_read");
        total += plugin_read("notes");
        dlclose(plugin);
    }
    printf("%ld bytes; unknown symbol: %s\n", total,
           dlsym(NULL, "no_such_symbol") ? "found"
           : dlerror()                   ? "error"
                                         : "?");
    return 0;
}
