#include "got.h"

#include "attach.h"
#include "fortran.h"
#include "loaded.h"
#include "resolve.h"
#include "table.h"
#include "text.h"

#define PAGE 4096u

/* A slot of an object that names a function of the table, in C or in Fortran, or dlsym. */
struct slot {
    void **place;
    int lazy;                    /* may still point into the object's own procedure linkage table */
    struct xw_mpi_symbol symbol; /* its name, and where the address of the real function is kept */
    unsigned number;             /* tells symbols apart */
    void *entry;                 /* what it is made to point to */
};

enum { N_C_SYMBOLS = XW_MPI_N * XW_MPI_N_NAMES, DLSYM = N_C_SYMBOLS + XW_FORTRAN_NAMES, N_SYMBOLS };

/* --- which slots there are --- */

static int is_dlsym(const char *symbol) { return *symbol == 'd' && xw_equal(symbol, "dlsym"); }

static int may_be_ours(const char *symbol)
{
    const char *plain = symbol + ((*symbol | 0x20) == 'p');
    return ((plain[0] | 0x20) == 'm' && (plain[1] | 0x20) == 'p' && (plain[2] | 0x20) == 'i') || is_dlsym(symbol);
}

/* The row of a C name; -1: none. */
static int find_row(const char *plain)
{
    uint32_t hash = xw_elf_hash(plain);
    for (uint32_t i = hash % XW_MPI_INDEX_SIZE; xw_mpi_index[i]; i = (i + 1) % XW_MPI_INDEX_SIZE) {
        int row = xw_mpi_index[i] - 1;
        if (xw_mpi_hashes[row][XW_MPI_PLAIN] == hash && xw_equal(xw_mpi_names[row] + 1, plain))
            return row;
    }
    return -1;
}

static int find_c_symbol(const char *symbol, int in_binding, struct slot *slot)
{
    const enum xw_mpi_name name = *symbol == 'P' ? XW_MPI_PROFILING : XW_MPI_PLAIN;
    const int row = find_row(symbol + (name == XW_MPI_PROFILING));
    if (row < 0)
        return 0;
    slot->number = (unsigned)row * XW_MPI_N_NAMES + name;
    slot->symbol = (struct xw_mpi_symbol){
        xw_mpi_names[row] + (name == XW_MPI_PLAIN),
        xw_mpi_hashes[row][name],
        &xw_mpi_real[row][name],
    };
    slot->entry = in_binding ? xw_fortran_gate((unsigned)row, name) : xw_mpi_wrapper((unsigned)row, name);
    return 1;
}

/* A binding's calls of Fortran names are inside a call that the program made. */
static int find_fortran_symbol(const char *symbol, int in_binding, struct slot *slot)
{
    const int name = in_binding ? -1 : xw_fortran_name(symbol);
    if (name < 0)
        return 0;
    slot->number = N_C_SYMBOLS + (unsigned)name;
    slot->symbol = (struct xw_mpi_symbol){xw_fortran_symbol(name), xw_elf_hash(symbol), xw_fortran_real(name)};
    slot->entry = xw_fortran_stub(name);
    return 1;
}

static int find_dlsym(const char *symbol, struct slot *slot)
{
    if (!is_dlsym(symbol))
        return 0;
    slot->number = DLSYM;
    slot->symbol = (struct xw_mpi_symbol){"dlsym", xw_elf_hash(symbol), &xw_mpi_real_dlsym};
    slot->entry = (void *)(uintptr_t)xw_mpi_dlsym_stub;
    return 1;
}

/* An object, and which of its symbols are to be looked at. */
struct search {
    const struct xw_elf *object;
    int in_binding;
    uint32_t n_undefined;   /* symbols below are taken from others */
    const uint64_t *chosen; /* a bit for each symbol below n_undefined */
};

typedef void slot_user(const struct search *search, const struct slot *slot, void *context);

/* Whether a relocation fills a slot with the address of a symbol. */
static int fills_slot(const ElfW(Rela) * relocation)
{
    unsigned long type = ELF64_R_TYPE(relocation->r_info);
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && !relocation->r_addend);
}

static XW_NOINLINE void visit_slot(const struct search *search, const ElfW(Rela) * relocation, slot_user *use,
                                   void *context)
{
    const struct xw_elf *object = search->object;
    const char *symbol = object->strings + object->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    struct slot slot = {.place = (void **)(object->base + relocation->r_offset),
                        .lazy = ELF64_R_TYPE(relocation->r_info) == R_X86_64_JUMP_SLOT};
    if (may_be_ours(symbol) && fills_slot(relocation) &&
        (find_dlsym(symbol, &slot) || find_c_symbol(symbol, search->in_binding, &slot) ||
         find_fortran_symbol(symbol, search->in_binding, &slot)))
        use(search, &slot, context);
}

static void visit_slots(const struct search *search, const ElfW(Rela) * relocation, size_t n, slot_user *use,
                        void *context)
{
    const uint64_t *const chosen = search->chosen;
    const uint32_t n_undefined = search->n_undefined;
    for (const ElfW(Rela) *end = relocation + n; relocation < end; relocation++) {
        const uint32_t index = (uint32_t)(relocation->r_info >> 32);
        if (XW_UNLIKELY(index < n_undefined) && XW_UNLIKELY(chosen[index / 64] >> index % 64 & 1))
            visit_slot(search, relocation, use, context);
    }
}

static void visit_all_slots(const struct search *search, const ElfW(Rela) * relocation, size_t n, slot_user *use,
                            void *context)
{
    for (const ElfW(Rela) *end = relocation + n; relocation < end; relocation++)
        visit_slot(search, relocation, use, context);
}

enum { MAX_CHOSEN = 1 << 16 };

/* Marks the symbols that may be ours among those that the object takes from others. Returns whether there are any. */
static int choose(const struct xw_elf *object, uint32_t n_undefined, uint64_t *chosen)
{
    int any = 0;
    for (uint32_t i = 0; i < n_undefined; i++) {
        if (i % 64 == 0)
            chosen[i / 64] = 0;
        if (i && may_be_ours(object->strings + object->symbols[i].st_name)) {
            chosen[i / 64] |= UINT64_C(1) << i % 64;
            any = 1;
        }
    }
    return any;
}

/*
 * Most objects have many relocations and none for MPI, and a large C++ library has hundreds of thousands. So names are
 * looked at once for each symbol that an object takes from others, and relocations for their symbol's number. An
 * executable at a fixed address may seem to define a function that it calls. Returns whether anything was looked at.
 */
static int visit_object_slots(const struct xw_elf *object, int in_binding, slot_user *use, void *context)
{
    static uint64_t chosen[MAX_CHOSEN / 64];
    const uint32_t n_undefined = xw_elf_n_undefined(object);
    const int by_number = n_undefined && n_undefined <= MAX_CHOSEN;
    if (by_number && !choose(object, n_undefined, chosen))
        return 0;
    const struct search search = {object, in_binding, n_undefined, chosen};
    (by_number && object->base ? visit_slots : visit_all_slots)(&search, object->plt, object->n_plt, use, context);
    (by_number ? visit_slots : visit_all_slots)(&search, object->data, object->n_data, use, context);
    return 1;
}

/* The MPI library's calls to itself are no calls of the application. */
static int is_mpi_library(const struct xw_elf *object)
{
    static uint32_t hash;
    if (!hash)
        hash = xw_elf_hash("PMPI_Init");
    return xw_elf_definition(object, "PMPI_Init", hash) != NULL;
}

/*
 * What is known of the loaded objects, in load order. Those of the start of the process are done with the first time:
 * their slots have been filled in, and they are not unloaded. (What another constructor opened before ours may be. Then
 * those behind it have other numbers, are not recognised and are looked at again.)
 */
enum { MAX_SEEN = 512 };
static struct seen {
    uintptr_t base;
    int has_slots;
} seen[MAX_SEEN];
static unsigned n_done;

static struct seen *look_up(const struct xw_elf *object, unsigned number)
{
    return number < MAX_SEEN && seen[number].base == object->base ? &seen[number] : NULL;
}

static int is_done(const struct xw_elf *object, unsigned number) { return number < n_done && look_up(object, number); }

/* --- first pass: which functions are called at all --- */

struct wanted {
    unsigned n_objects;
    struct xw_mpi_symbol symbols[N_SYMBOLS];
    unsigned n;
    uint8_t listed[N_SYMBOLS];
};

static void want(const struct search *search, const struct slot *slot, void *context)
{
    struct wanted *wanted = context;
    if (!*slot->place)
        return;
    if (search->in_binding && slot->number < N_C_SYMBOLS)
        xw_fortran_note_reached(slot->number / XW_MPI_N_NAMES);
    if (*slot->symbol.address || wanted->listed[slot->number])
        return;
    wanted->listed[slot->number] = 1;
    wanted->symbols[wanted->n++] = slot->symbol;
}

static int list_wanted(const struct xw_elf *object, const char *path, void *context)
{
    (void)path;
    struct wanted *wanted = context;
    const unsigned number = wanted->n_objects++;
    const int is_binding = xw_fortran_note_binding(object);
    if (is_done(object, number))
        return 0;
    const int has_slots = !is_mpi_library(object) && visit_object_slots(object, is_binding, want, wanted);
    if (number < MAX_SEEN)
        seen[number] = (struct seen){object->base, has_slots};
    return 0;
}

/* --- second pass: redirect the slots of what was found --- */

/* Whether a slot leads where the wrapper will, so that redirecting it changes nothing but that we see the call. */
static int leads_to_real(const struct xw_elf *object, const struct slot *slot)
{
    void *target = __atomic_load_n(slot->place, __ATOMIC_RELAXED);
    void *real = *slot->symbol.address;
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

/*
 * Whether a page is read-only. While another thread's dlopen fills in an object's slots, its pages are still writable;
 * protecting them would kill that thread. The kernel is asked to OR nothing to a word of the page.
 */
static int is_sealed(uintptr_t place)
{
    enum { WAKE_OP_PRIVATE = 5 | 128, OR_NOTHING = 2 << 28 };
    uint32_t nobody = 0;
    return xw_failed(xw_syscall(SYS_futex, &nobody, WAKE_OP_PRIVATE, 0, 0, place & ~(uintptr_t)3, OR_NOTHING));
}

struct patch {
    struct pages relro;
    int opened; /* relro was sealed and is writable now */
    int known;  /* whether it was sealed has been asked */
    int refused;
};

/* Returns whether the slot can be written to. */
static int open_pages(struct patch *patch, uintptr_t place)
{
    if (place < patch->relro.begin || place >= patch->relro.end)
        return 1;
    if (!patch->known) {
        patch->known = 1;
        if (is_sealed(place)) {
            patch->opened = protect(patch->relro, READ_WRITE);
            patch->refused = !patch->opened;
        }
    }
    return !patch->refused;
}

static void redirect(const struct search *search, const struct slot *slot, void *context)
{
    struct patch *patch = context;
    uintptr_t place = (uintptr_t)slot->place;
    if (leads_to_real(search->object, slot) && is_writable(search->object, place) && open_pages(patch, place))
        __atomic_store_n(slot->place, slot->entry, __ATOMIC_RELEASE);
}

static int redirect_object(const struct xw_elf *object, const char *path, void *context)
{
    (void)path;
    unsigned *n_objects = context;
    const unsigned number = (*n_objects)++;
    const struct seen *known = look_up(object, number);
    if (is_done(object, number) || (known && !known->has_slots) || is_mpi_library(object))
        return 0;
    struct patch patch = {.relro = relro_pages(object)};
    visit_object_slots(object, xw_fortran_is_binding(object), redirect, &patch);
    if (patch.opened)
        protect(patch.relro, READ_ONLY);
    return 0;
}

void xw_mpi_redirect(enum xw_mpi_when when)
{
    static int busy;
    static struct wanted wanted;
    unsigned n_objects = 0;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        return;
    wanted.n = wanted.n_objects = 0;
    for (unsigned i = 0; i < N_SYMBOLS; i++)
        wanted.listed[i] = 0;
    xw_fortran_begin();
    xw_elf_visit(XW_ELF_FIRST, list_wanted, &wanted);
    xw_mpi_resolve(wanted.symbols, wanted.n, XW_MPI_FIRST);
    xw_fortran_connect();
    xw_elf_visit(XW_ELF_FIRST, redirect_object, &n_objects);
    if (when == XW_MPI_AT_START)
        n_done = n_objects < MAX_SEEN ? n_objects : MAX_SEEN;
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
