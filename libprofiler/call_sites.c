#include "call_sites.h"

#include <link.h>

#include "mpi/fortran.h"

extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) __attribute__((weak));

enum { MAX_MODULES = 256 };
static struct module {
    uintptr_t begin, end;
} modules[MAX_MODULES];
static uint32_t n_modules;

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
    uint32_t *n = data;
    (void)size;
    if (*n >= MAX_MODULES)
        return 1;
    uintptr_t begin = ~0ul, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD)
            continue;
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        begin = from < begin ? from : begin;
        end = from + part->p_memsz > end ? from + part->p_memsz : end;
    }
    if (begin < end)
        modules[(*n)++] = (struct module){begin, end};
    return 0;
}

void xw_call_sites_modules_changed(void)
{
    uint32_t n = 0;
    if (dl_iterate_phdr)
        dl_iterate_phdr(add_module, &n);
    __atomic_store_n(&n_modules, n, __ATOMIC_RELEASE);
}

/* The address relative to its module, so that it is the same in every rank and every run. */
static uintptr_t relative(uintptr_t address)
{
    static uint32_t last; /* the module of the call before; a race costs a search */
    uint32_t n = __atomic_load_n(&n_modules, __ATOMIC_ACQUIRE), hit = __atomic_load_n(&last, __ATOMIC_RELAXED);
    if (hit < n && address - modules[hit].begin < modules[hit].end - modules[hit].begin)
        return address - modules[hit].begin;
    for (uint32_t i = 0; i < n; i++)
        if (address - modules[i].begin < modules[i].end - modules[i].begin) {
            __atomic_store_n(&last, i, __ATOMIC_RELAXED);
            return address - modules[i].begin;
        }
    return address & 0xfff; /* unknown: what randomisation leaves alone */
}

uint64_t xw_call_site(unsigned function, const void *return_address)
{
    uint64_t site = relative((uintptr_t)xw_fortran_place(return_address)) * 0x9e3779b97f4a7c15u + function + 1;
    site = (site ^ site >> 29) * 0xbf58476d1ce4e5b9u;
    return site ^ site >> 32;
}
