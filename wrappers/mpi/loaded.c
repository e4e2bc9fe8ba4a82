#include "loaded.h"

#include "text.h"

extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __attribute__((weak));

/* glibc has relocated the addresses of the dynamic table in place, other linkers have not. */
static const void *dynamic_address(uintptr_t base, uintptr_t value)
{
    return (const void *)(value < base ? base + value : value);
}

static const ElfW(Dyn) * dynamic_table(const struct dl_phdr_info *info)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* Returns 0 for an object that has no symbols to look at. */
static int open_object(struct xw_elf *object, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *entry = dynamic_table(info);
    if (!entry)
        return 0;
    *object = (struct xw_elf){.base = info->dlpi_addr, .segments = info->dlpi_phdr, .n_segments = info->dlpi_phnum};
    size_t n_relative = 0;
    int plt_is_rela = 1;
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *address = dynamic_address(object->base, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB:
            object->symbols = address;
            break;
        case DT_STRTAB:
            object->strings = address;
            break;
        case DT_GNU_HASH:
            object->gnu_hash = address;
            break;
        case DT_HASH:
            object->sysv_hash = address;
            break;
        case DT_JMPREL:
            object->plt = address;
            break;
        case DT_PLTREL:
            plt_is_rela = entry->d_un.d_val == DT_RELA;
            break;
        case DT_PLTRELSZ:
            object->n_plt = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            object->data = address;
            break;
        case DT_RELASZ:
            object->n_data = entry->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELACOUNT:
            n_relative = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!object->plt || !plt_is_rela)
        object->n_plt = 0;
    if (!object->data || n_relative > object->n_data)
        object->n_data = n_relative = 0;
    object->data += n_relative; /* the linker sorts those without a symbol to the front */
    object->n_data -= n_relative;
    return object->symbols && object->strings && (object->gnu_hash || object->sysv_hash);
}

struct visit {
    int started;
    xw_elf_visitor *visitor;
    void *context;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct visit *visit = context;
    struct xw_elf object;
    if (!open_object(&object, info))
        return 0;
    int ours = xw_elf_segment(&object, (uintptr_t)&visit_object) != NULL;
    if (ours || !visit->started) {
        visit->started |= ours;
        return 0;
    }
    return visit->visitor(&object, info->dlpi_name ? info->dlpi_name : "", visit->context);
}

int xw_elf_visit(enum xw_elf_start start, xw_elf_visitor *visitor, void *context)
{
    struct visit visit = {start == XW_ELF_FIRST, visitor, context};
    return dl_iterate_phdr ? dl_iterate_phdr(visit_object, &visit) : 0;
}

static int read_loaded(struct dl_phdr_info *info, size_t size, void *context)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(uint64_t *)context = info->dlpi_adds;
    return 1; /* every object states the same number */
}

uint64_t xw_elf_loaded(void)
{
    uint64_t loaded = 0;
    if (dl_iterate_phdr)
        dl_iterate_phdr(read_loaded, &loaded);
    return loaded;
}

static int has_prefix(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    const char *prefix = context;
    const char *name = xw_basename(info->dlpi_name ? info->dlpi_name : "");
    while (*prefix && *prefix == *name)
        prefix++, name++;
    return !*prefix;
}

int xw_elf_is_loaded(const char *prefix)
{
    return dl_iterate_phdr && dl_iterate_phdr(has_prefix, (void *)(uintptr_t)prefix);
}

uint32_t xw_elf_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static uint32_t sysv_hash(const char *name)
{
    uint32_t hash = 0;
    for (; *name; name++) {
        hash = (hash << 4) + (unsigned char)*name;
        hash ^= (hash >> 24) & 0xf0;
    }
    return hash & 0x0fffffff;
}

/* A definition that other objects may bind to; not an indirect function, whose value is not its address. */
static int defines(const struct xw_elf *object, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE) &&
           xw_equal(object->strings + symbol->st_name, name);
}

/*
 * DT_GNU_HASH: {n_buckets, first symbol, n_bloom, shift} bloom[n_bloom] (64 bits each) bucket[n_buckets] chain[]
 * A chain value is the symbol's hash with bit 0 telling whether it ends the chain.
 */
static uint32_t find_gnu(const struct xw_elf *object, const char *name, uint32_t hash)
{
    const uint32_t *table = object->gnu_hash;
    uint32_t n_buckets = table[0], first = table[1], n_bloom = table[2], shift = table[3];
    const uint64_t *bloom = (const uint64_t *)(table + 4);
    const uint32_t *bucket = (const uint32_t *)(bloom + n_bloom);
    const uint32_t *chain = bucket + n_buckets;
    if (!n_buckets || !n_bloom)
        return 0;
    uint64_t bits = UINT64_C(1) << (hash % 64) | UINT64_C(1) << ((hash >> shift) % 64);
    if ((bloom[(hash / 64) % n_bloom] & bits) != bits)
        return 0;
    uint32_t index = bucket[hash % n_buckets];
    if (index < first)
        return 0;
    for (;; index++) {
        uint32_t value = chain[index - first];
        if ((value | 1) == (hash | 1) && defines(object, index, name))
            return index;
        if (value & 1)
            return 0;
    }
}

/* The linker sorts symbols that are in the hash table behind the others, and states where they begin: unless it has
 * none. */
uint32_t xw_elf_n_undefined(const struct xw_elf *object)
{
    const uint32_t *table = object->gnu_hash;
    if (!table)
        return 0;
    uint32_t n_buckets = table[0], n_bloom = table[2];
    const uint32_t *bucket = table + 4 + 2 * (size_t)n_bloom;
    int is_empty = n_buckets == 1 && !bucket[0];
    return is_empty ? 0 : table[1];
}

/* DT_HASH: {n_buckets, n_chains} bucket[n_buckets] chain[n_chains]; index 0 ends a chain. */
static uint32_t find_sysv(const struct xw_elf *object, const char *name)
{
    const uint32_t *table = object->sysv_hash;
    const uint32_t *bucket = table + 2, *chain = bucket + table[0];
    if (!table[0])
        return 0;
    uint32_t index = bucket[sysv_hash(name) % table[0]];
    while (index && !defines(object, index, name))
        index = chain[index];
    return index;
}

void *xw_elf_definition(const struct xw_elf *object, const char *name, uint32_t hash)
{
    uint32_t index = object->gnu_hash ? find_gnu(object, name, hash) : find_sysv(object, name);
    return index ? (void *)(object->base + object->symbols[index].st_value) : NULL;
}

const ElfW(Phdr) * xw_elf_segment(const struct xw_elf *object, uintptr_t address)
{
    for (unsigned i = 0; i < object->n_segments; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_LOAD && address - object->base - segment->p_vaddr < segment->p_memsz)
            return segment;
    }
    return NULL;
}
