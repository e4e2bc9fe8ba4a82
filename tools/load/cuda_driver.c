#include "cuda_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* cuda.h names some functions anew (cuMemAlloc is cuMemAlloc_v2): the name as the library has it. */
#define TEXT(name) #name
#define SYMBOL(name) TEXT(name)
#define ENTRY(member, name)                                                                                            \
    {                                                                                                                  \
        offsetof(struct cuda_driver, member), SYMBOL(name)                                                             \
    }

static const struct {
    size_t offset;
    const char *symbol;
} entries[] = {
    ENTRY(init, cuInit),
    ENTRY(device_count, cuDeviceGetCount),
    ENTRY(device, cuDeviceGet),
    ENTRY(retain, cuDevicePrimaryCtxRetain),
    ENTRY(release, cuDevicePrimaryCtxRelease),
    ENTRY(make_current, cuCtxSetCurrent),
    ENTRY(allocate, cuMemAlloc),
    ENTRY(deallocate, cuMemFree),
    ENTRY(allocate_pinned, cuMemAllocHost),
    ENTRY(deallocate_pinned, cuMemFreeHost),
    ENTRY(to_device, cuMemcpyHtoD),
    ENTRY(from_device, cuMemcpyDtoH),
};

const char *cuda_driver_load(struct cuda_driver *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL); /* stays until the process ends */
    if (!library)
        return "libcuda.so.1";
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *function = dlsym(library, entries[i].symbol);
        if (!function)
            return entries[i].symbol;
        memcpy((char *)driver + entries[i].offset, &function, sizeof function);
    }
    return NULL;
}
