/* Stands in for NVIDIA's driver: two devices whose memory is the host's. Says at the end what was copied and left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long to_device, from_device, held;

static void __attribute__((destructor)) tell(void)
{
    fprintf(stderr, "stand-in: %lu to device, %lu from device, %lu held\n", to_device, from_device, held);
}

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *count) { return *count = 2, 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return held++, *context = malloc(1), device < 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return held--, device < 0; }
int cuCtxSetCurrent(void *context) { return context == NULL; }
int cuMemAlloc_v2(unsigned long long *memory, size_t size)
{
    void *found = malloc(size);
    *memory = (unsigned long long)(size_t)found;
    return held++, found == NULL;
}
int cuMemFree_v2(unsigned long long memory) { return held--, free((void *)(size_t)memory), 0; }
int cuMemAllocHost_v2(void **memory, size_t size) { return held++, *memory = malloc(size), *memory == NULL; }
int cuMemFreeHost(void *memory) { return held--, free(memory), 0; }
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t size)
{
    return to_device += size, memcpy((void *)(size_t)to, from, size), 0;
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size)
{
    return from_device += size, memcpy(to, (void *)(size_t)from, size), 0;
}
