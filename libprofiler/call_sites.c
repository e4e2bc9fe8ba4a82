#include "call_sites.h"

#include <link.h>

#include "text.h"

extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data) __attribute__((weak));

enum { MAX_MODULES = 256 };
static struct module {
    uintptr_t begin, end;
} modules[MAX_MODULES];
static struct {
    uintptr_t base; /* what addresses in its file are moved by */
    char name[XW_MODULE_NAME];
} named[MAX_MODULES]; /* apart from what every call looks through */
static uint32_t n_modules;

/* What is right already is not touched: another thread may be reading it. */
static void set_name(uint32_t module, uintptr_t base, const char *name)
{
    char kept[XW_MODULE_NAME];
    xw_copy(kept, sizeof kept, name);
    named[module].base = base;
    if (!xw_equal(named[module].name, kept))
        xw_copy(named[module].name, sizeof named[module].name, kept);
}

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
    if (begin >= end)
        return 0;
    set_name(*n, info->dlpi_addr, xw_basename(info->dlpi_name ? info->dlpi_name : ""));
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

/* The number of the module that an address is in; MAX_MODULES: of none. */
static uint32_t module_of(uintptr_t address)
{
    static uint32_t last; /* the module of the call before; a race costs a search */
    uint32_t n = __atomic_load_n(&n_modules, __ATOMIC_ACQUIRE), hit = __atomic_load_n(&last, __ATOMIC_RELAXED);
    if (hit < n && address - modules[hit].begin < modules[hit].end - modules[hit].begin)
        return hit;
    for (uint32_t i = 0; i < n; i++)
        if (address - modules[i].begin < modules[i].end - modules[i].begin) {
            __atomic_store_n(&last, i, __ATOMIC_RELAXED);
            return i;
        }
    return MAX_MODULES;
}

/* The address relative to its module, so that it is the same in every rank and every run. */
static uintptr_t relative(uintptr_t address)
{
    const uint32_t module = module_of(address);
    return module < MAX_MODULES ? address - modules[module].begin
                                : address & 0xfff; /* unknown: what randomisation leaves alone */
}

int xw_call_place_in_module(uintptr_t place, struct xw_module_place *found)
{
    const uint32_t module = module_of(place);
    if (module == MAX_MODULES)
        return 0;
    found->offset = place - named[module].base;
    xw_copy(found->module, sizeof found->module, named[module].name);
    return 1;
}

uint64_t xw_call_site(unsigned function, const void *return_address)
{
    uint64_t site = relative(xw_call_place(return_address)) * 0x9e3779b97f4a7c15u + function + 1;
    site = (site ^ site >> 29) * 0xbf58476d1ce4e5b9u;
    return site ^ site >> 32;
}
