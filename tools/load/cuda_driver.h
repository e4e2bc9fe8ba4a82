/* The few functions of the CUDA driver that copies need. The driver is loaded at run time, so that the program starts,
   and says what is missing, on nodes without one. */
#ifndef LOAD_CUDA_DRIVER_H
#define LOAD_CUDA_DRIVER_H

#include <cuda.h>

struct cuda_driver {
    CUresult (*init)(unsigned flags);
    CUresult (*device_count)(int *count);
    CUresult (*device)(CUdevice *device, int number);
    CUresult (*retain)(CUcontext *context, CUdevice device);
    CUresult (*release)(CUdevice device);
    CUresult (*make_current)(CUcontext context);
    CUresult (*allocate)(CUdeviceptr *memory, size_t size);
    CUresult (*deallocate)(CUdeviceptr memory);
    CUresult (*allocate_pinned)(void **memory, size_t size);
    CUresult (*deallocate_pinned)(void *memory);
    CUresult (*to_device)(CUdeviceptr to, const void *from, size_t size);
    CUresult (*from_device)(void *to, CUdeviceptr from, size_t size);
};

/* NULL, or which part of the driver is missing. */
const char *cuda_driver_load(struct cuda_driver *driver);

#endif
