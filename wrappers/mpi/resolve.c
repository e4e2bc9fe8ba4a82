#include "resolve.h"

#include "loaded.h"
#include "text.h"

struct lookup {
    struct xw_mpi_symbol *symbols;
    unsigned n;
    unsigned n_missing;
    enum xw_mpi_scope scope;
    uint32_t init_hash;
};

static int look_into(const struct xw_elf *object, const char *path, void *context)
{
    (void)path;
    struct lookup *lookup = context;
    if (lookup->scope == XW_MPI_LIBRARY && !xw_elf_definition(object, "PMPI_Init", lookup->init_hash))
        return 0;
    for (unsigned i = 0; i < lookup->n; i++) {
        struct xw_mpi_symbol *symbol = &lookup->symbols[i];
        if (*symbol->address)
            continue;
        *symbol->address = xw_elf_definition(object, symbol->name, symbol->hash);
        lookup->n_missing -= *symbol->address != NULL;
    }
    return lookup->scope == XW_MPI_LIBRARY || !lookup->n_missing;
}

void xw_mpi_resolve(struct xw_mpi_symbol *symbols, unsigned n, enum xw_mpi_scope scope)
{
    struct lookup lookup = {symbols, n, 0, scope, xw_elf_hash("PMPI_Init")};
    for (unsigned i = 0; i < n; i++)
        lookup.n_missing += !*symbols[i].address;
    if (lookup.n_missing)
        xw_elf_visit(scope == XW_MPI_NEXT ? XW_ELF_BEHIND_US : XW_ELF_FIRST, look_into, &lookup);
}

void *xw_mpi_resolve_one(const char *name, enum xw_mpi_scope scope)
{
    void *address = NULL;
    struct xw_mpi_symbol symbol = {name, xw_elf_hash(name), &address};
    xw_mpi_resolve(&symbol, 1, scope);
    return address;
}

struct name {
    char *text;
    size_t size;
    uint32_t init_hash;
};

static int take_name(const struct xw_elf *object, const char *path, void *context)
{
    struct name *name = context;
    if (!xw_elf_definition(object, "PMPI_Init", name->init_hash))
        return 0;
    xw_copy(name->text, name->size, xw_basename(path));
    return 1;
}

int xw_mpi_library_name(char *text, size_t size)
{
    struct name name = {text, size, xw_elf_hash("PMPI_Init")};
    return xw_elf_visit(XW_ELF_FIRST, take_name, &name);
}
