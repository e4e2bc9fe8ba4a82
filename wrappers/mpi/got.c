#include "got.h"

#include "loaded.h"
#include "resolve.h"
#include "table.h"
#include "text.h"

#define PAGE 4096u

/* A slot of an object that names a function of the table. */
struct slot {
    void **place;
    unsigned function;
    enum xw_mpi_name name;
    int lazy; /* may still point into the object's own procedure linkage table */
};

typedef void slot_user(const struct xw_elf *object, const struct slot *slot, void *context);

/* A name without its P; NULL: not MPI's. */
static const char *plain_name(const char *symbol)
{
    const char *plain = symbol + (*symbol == 'P');
    return plain[0] == 'M' && plain[1] == 'P' && plain[2] == 'I' && plain[3] == '_' ? plain : NULL;
}

/* Which function of the table a symbol is; 0: none. */
static int find_function(const char *symbol, struct slot *slot)
{
    const char *plain = plain_name(symbol);
    if (!plain)
        return 0;
    slot->name = plain == symbol ? XW_MPI_PLAIN : XW_MPI_PROFILING;
    uint32_t hash = xw_elf_hash(plain);
    for (uint32_t i = hash % XW_MPI_INDEX_SIZE; xw_mpi_index[i]; i = (i + 1) % XW_MPI_INDEX_SIZE) {
        slot->function = xw_mpi_index[i] - 1u;
        if (xw_mpi_hashes[slot->function][XW_MPI_PLAIN] == hash && xw_equal(xw_mpi_names[slot->function] + 1, plain))
            return 1;
    }
    return 0;
}

/* Whether a relocation fills a slot with the address of a symbol. */
static int fills_slot(const ElfW(Rela) * relocation)
{
    unsigned long type = ELF64_R_TYPE(relocation->r_info);
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && !relocation->r_addend);
}

/* Visits the slots of functions of the table whose symbol has an index below `n_symbols`. */
static void visit_slots(const struct xw_elf *object, const ElfW(Rela) * relocations, size_t n, uint32_t n_symbols,
                        slot_user *use, void *context)
{
    for (const ElfW(Rela) *relocation = relocations; relocation < relocations + n; relocation++) {
        uint32_t index = ELF64_R_SYM(relocation->r_info);
        if (index >= n_symbols || !fills_slot(relocation))
            continue;
        struct slot slot = {.place = (void **)(object->base + relocation->r_offset),
                            .lazy = ELF64_R_TYPE(relocation->r_info) == R_X86_64_JUMP_SLOT};
        if (find_function(object->strings + object->symbols[index].st_name, &slot))
            use(object, &slot, context);
    }
}

/* Whether any of the symbols that the object takes from others is MPI's. */
static int takes_mpi(const struct xw_elf *object, uint32_t n_undefined)
{
    for (uint32_t i = 1; i < n_undefined; i++)
        if (plain_name(object->strings + object->symbols[i].st_name))
            return 1;
    return 0;
}

/*
 * Most objects have many relocations and none for MPI, and a large C++ library has hundreds of thousands for its own
 * symbols. So only objects are looked through that take a symbol of MPI from others, and of their data relocations only
 * those for such symbols. Calls may also name a symbol that an executable at a fixed address seems to define.
 */
static void visit_object_slots(const struct xw_elf *object, slot_user *use, void *context)
{
    uint32_t n_undefined = xw_elf_n_undefined(object);
    if (n_undefined && !takes_mpi(object, n_undefined))
        return;
    visit_slots(object, object->plt, object->n_plt, ~0u, use, context);
    visit_slots(object, object->data, object->n_data, n_undefined ? n_undefined : ~0u, use, context);
}

/* The MPI library's calls to itself are no calls of the application. */
static int is_mpi_library(const struct xw_elf *object)
{
    static uint32_t hash;
    if (!hash)
        hash = xw_elf_hash("PMPI_Init");
    return xw_elf_definition(object, "PMPI_Init", hash) != NULL;
}

/* --- first pass: which functions are called at all --- */

struct wanted {
    struct xw_mpi_symbol symbols[XW_MPI_N * XW_MPI_N_NAMES];
    unsigned n;
    uint8_t listed[XW_MPI_N][XW_MPI_N_NAMES];
};

static void want(const struct xw_elf *object, const struct slot *slot, void *context)
{
    (void)object;
    struct wanted *wanted = context;
    void **real = &xw_mpi_real[slot->function][slot->name];
    if (*real || !*slot->place || wanted->listed[slot->function][slot->name])
        return;
    wanted->listed[slot->function][slot->name] = 1;
    wanted->symbols[wanted->n++] = (struct xw_mpi_symbol){
        .name = xw_mpi_names[slot->function] + (slot->name == XW_MPI_PLAIN),
        .hash = xw_mpi_hashes[slot->function][slot->name],
        .address = real,
    };
}

static int list_wanted(const struct xw_elf *object, const char *path, void *context)
{
    (void)path;
    if (!is_mpi_library(object))
        visit_object_slots(object, want, context);
    return 0;
}

/* --- second pass: redirect the slots of what was found --- */

/* Whether a slot leads where the wrapper will, so that redirecting it changes nothing but that we see the call. */
static int leads_to_real(const struct xw_elf *object, const struct slot *slot)
{
    void *target = __atomic_load_n(slot->place, __ATOMIC_RELAXED);
    void *real = xw_mpi_real[slot->function][slot->name];
    return target && real && (target == real || (slot->lazy && xw_elf_segment(object, (uintptr_t)target)));
}

static int is_writable(const struct xw_elf *object, uintptr_t place)
{
    const ElfW(Phdr) *segment = xw_elf_segment(object, place);
    return segment && (segment->p_flags & PF_W);
}

/* Pages that the dynamic linker made read-only after relocation. */
struct pages {
    uintptr_t begin, end;
};

static struct pages relro_pages(const struct xw_elf *object)
{
    for (unsigned i = 0; i < object->n_segments; i++) {
        const ElfW(Phdr) *segment = &object->segments[i];
        if (segment->p_type == PT_GNU_RELRO) {
            uintptr_t begin = object->base + segment->p_vaddr;
            return (struct pages){begin & ~(uintptr_t)(PAGE - 1), (begin + segment->p_memsz) & ~(uintptr_t)(PAGE - 1)};
        }
    }
    return (struct pages){0, 0};
}

enum { READ_ONLY = 1, READ_WRITE = 3 }; /* PROT_READ, PROT_READ | PROT_WRITE */

static int protect(struct pages pages, int protection)
{
    return !xw_failed(xw_syscall(SYS_mprotect, pages.begin, pages.end - pages.begin, protection));
}

struct patch {
    struct pages relro;
    int opened; /* relro is writable now */
    int refused;
};

static void redirect(const struct xw_elf *object, const struct slot *slot, void *context)
{
    struct patch *patch = context;
    uintptr_t place = (uintptr_t)slot->place;
    if (!leads_to_real(object, slot) || !is_writable(object, place))
        return;
    if (place >= patch->relro.begin && place < patch->relro.end && !patch->opened) {
        if (patch->refused || !protect(patch->relro, READ_WRITE)) {
            patch->refused = 1;
            return;
        }
        patch->opened = 1;
    }
    __atomic_store_n(slot->place, xw_mpi_wrapper(slot->function, slot->name), __ATOMIC_RELEASE);
}

static int redirect_object(const struct xw_elf *object, const char *path, void *context)
{
    (void)path;
    (void)context;
    if (is_mpi_library(object))
        return 0;
    struct patch patch = {.relro = relro_pages(object)};
    visit_object_slots(object, redirect, &patch);
    if (patch.opened)
        protect(patch.relro, READ_ONLY);
    return 0;
}

void xw_mpi_redirect(void)
{
    static int busy;
    static struct wanted wanted;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        return;
    wanted = (struct wanted){0};
    xw_elf_visit(XW_ELF_FIRST, list_wanted, &wanted);
    xw_mpi_resolve(wanted.symbols, wanted.n, XW_MPI_FIRST);
    xw_elf_visit(XW_ELF_FIRST, redirect_object, NULL);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
