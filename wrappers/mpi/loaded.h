/*
 * A loaded object (executable or shared library) as the dynamic linker left it in memory: its symbols and relocations.
 *
 * Everything is read from the object's own tables under dl_iterate_phdr, not through dlsym: no allocation, no dlerror
 * state for a name that is not there, no lock but that of dl_iterate_phdr.
 */
#ifndef XW_MPI_LOADED_H
#define XW_MPI_LOADED_H

#include <link.h>

#include "os.h"

struct xw_elf {
    uintptr_t base; /* load address: to be added to every address that the file states */
    const ElfW(Phdr) * segments;
    unsigned n_segments;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash; /* at least one of the two hash tables */
    const uint32_t *sysv_hash;
    const ElfW(Rela) * plt; /* relocations that may be bound lazily */
    size_t n_plt;
    const ElfW(Rela) * data; /* the others, those without a symbol left out as far as they come first */
    size_t n_data;
};

/* What a callback is given for each object, in load order. Return 0 to go on. `path` is "" for the executable. */
typedef int xw_elf_visitor(const struct xw_elf *object, const char *path, void *context);

enum xw_elf_start { XW_ELF_FIRST, XW_ELF_BEHIND_US };

/* Visit the loaded objects but this library, all or those loaded after it. Returns what the visitor returned last. */
int xw_elf_visit(enum xw_elf_start start, xw_elf_visitor *visitor, void *context) XW_HIDDEN;
/* How many objects have been loaded so far (those unloaded since included); 0: unknown. */
uint64_t xw_elf_loaded(void) XW_HIDDEN;
/* Whether an object is loaded whose file name begins with `prefix`. Reads names only. */
int xw_elf_is_loaded(const char *prefix) XW_HIDDEN;

/* The object's own definition of a symbol, function or data; NULL: it has none. `hash` is xw_elf_hash(name). */
void *xw_elf_definition(const struct xw_elf *object, const char *name, uint32_t hash) XW_HIDDEN;
/* The symbols before this index are those that the object takes from others; 0: it does not sort them so. */
uint32_t xw_elf_n_undefined(const struct xw_elf *object) XW_HIDDEN;
/* The loaded segment that the address lies in, NULL: not in this object. */
const ElfW(Phdr) * xw_elf_segment(const struct xw_elf *object, uintptr_t address) XW_HIDDEN;
/* The hash of GNU symbol tables. */
uint32_t xw_elf_hash(const char *name) XW_HIDDEN;

#endif
