/* The bus between a node and its GPUs: copies from pinned host memory to a device and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cuda_driver.h"
#include "load.h"

enum kind { TO_DEVICE, FROM_DEVICE, BOTH };
enum count { TO, FROM };
enum { ANY_DEVICE = 1024 };

static const char *const kind_words[] = {"to-device", "from-device", "both", NULL};
static const char *const counts[] = {"copies_to_device", "copies_from_device", NULL};
static uint64_t kind = BOTH, size = 64 << 20, device_number = ANY_DEVICE;

static const struct load_option options[] = {
    {.name = "kind",
     .help = "direction of the copies (default both)",
     .kind = LOAD_WORD,
     .value = &kind,
     .words = kind_words},
    {.name = "size",
     .help = "bytes of a copy, 1k to 1G (default 64M)",
     .kind = LOAD_SIZE,
     .value = &size,
     .least = 1024,
     .most = 1 << 30},
    {.name = "device",
     .help = "number of the GPU (default: rank by rank)",
     .kind = LOAD_SIZE,
     .value = &device_number,
     .least = 0,
     .most = ANY_DEVICE - 1},
    {0},
};

static struct {
    struct cuda_driver cuda;
    CUdevice device;
    CUcontext context;
    CUdeviceptr there; /* in the device's memory */
    void *here;        /* in the host's, pinned */
} my;

static const char *find_device(const struct load_run *run)
{
    static char words[200];
    int n = 0;
    const char *missing = cuda_driver_load(&my.cuda);
    if (missing) {
        snprintf(words, sizeof words, "no CUDA device: %s is missing, it comes with NVIDIA's driver", missing);
        return words;
    }
    if (my.cuda.init(0) != CUDA_SUCCESS || my.cuda.device_count(&n) != CUDA_SUCCESS || n < 1)
        return "no CUDA device: the driver finds none";
    const uint64_t number = device_number == ANY_DEVICE ? (uint64_t)(run->rank % n) : device_number;
    if (number >= (uint64_t)n || my.cuda.device(&my.device, (int)number) != CUDA_SUCCESS)
        return "no CUDA device of that number: choose another --device";
    return NULL;
}

static const char *begin(struct load_run *run)
{
    const char *wrong = find_device(run);
    if (wrong)
        return wrong;
    if (my.cuda.retain(&my.context, my.device) != CUDA_SUCCESS) {
        my.context = NULL;
        return "cannot use the CUDA device: it may be reserved for another process";
    }
    if (my.cuda.make_current(my.context) != CUDA_SUCCESS || my.cuda.allocate_pinned(&my.here, size) != CUDA_SUCCESS ||
        my.cuda.allocate(&my.there, size) != CUDA_SUCCESS)
        return "not enough memory of the host or of the CUDA device: choose a smaller --size";
    for (uint64_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        const uint64_t word = load_random(run);
        memcpy((char *)my.here + i, &word, sizeof word);
    }
    return my.cuda.to_device(my.there, my.here, size) == CUDA_SUCCESS ? NULL : "cannot copy to the CUDA device";
}

static uint64_t work(struct load_run *run)
{
    errno = EIO;
    if (kind != FROM_DEVICE) {
        if (my.cuda.to_device(my.there, my.here, size) != CUDA_SUCCESS)
            return LOAD_FAILED;
        run->counts[TO]++;
    }
    if (kind != TO_DEVICE) {
        if (my.cuda.from_device(my.here, my.there, size) != CUDA_SUCCESS)
            return LOAD_FAILED;
        run->counts[FROM]++;
    }
    return kind == BOTH ? 2 * size : size;
}

static void end(struct load_run *run)
{
    (void)run;
    if (my.there)
        my.cuda.deallocate(my.there);
    if (my.here)
        my.cuda.deallocate_pinned(my.here);
    if (my.context)
        my.cuda.release(my.device);
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-gpubus",
        .stresses = "the bus between a node and its GPUs: copies from pinned memory and back",
        .example = "load-gpubus --kind to-device --size 256M --seconds 60",
        .unit = "B",
        .options = options,
        .counts = counts,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
