#include "fortran_names.h"

#include "loaded.h"
#include "table.h"
#include "text.h"

static uint16_t by_name[XW_MPI_INDEX_SIZE]; /* in small letters, open addressing: row + 1, 0: free */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

static void copy_lower(char *to, const char *from)
{
    xw_copy(to, XW_FORTRAN_MAX_SYMBOL, from);
    for (; *to; to++)
        *to = lower(*to);
}

static int find(const char *name)
{
    for (uint32_t i = xw_elf_hash(name) % XW_MPI_INDEX_SIZE; by_name[i]; i = (i + 1) % XW_MPI_INDEX_SIZE) {
        char other[XW_FORTRAN_MAX_SYMBOL];
        copy_lower(other, xw_mpi_names[by_name[i] - 1] + 1);
        if (xw_equal(other, name))
            return by_name[i] - 1;
    }
    return -1;
}

/* Cut `tail` off the end of a name if it is there. */
static int cut(char *name, const char *tail)
{
    size_t length = xw_length(name), n = xw_length(tail);
    if (length < n || !xw_equal(name + length - n, tail))
        return 0;
    name[length - n] = 0;
    return 1;
}

static void make_index(void)
{
    static int done;
    char name[XW_FORTRAN_MAX_SYMBOL];
    if (done)
        return;
    done = 1;
    for (unsigned row = 0; row < XW_MPI_N; row++) {
        copy_lower(name, xw_mpi_names[row] + 1);
        uint32_t i = xw_elf_hash(name) % XW_MPI_INDEX_SIZE;
        while (by_name[i])
            i = (i + 1) % XW_MPI_INDEX_SIZE;
        by_name[i] = (uint16_t)(row + 1);
    }
}

/* Compilers write a name in small or in capital letters throughout; C names of MPI have both. */
static int is_one_case(const char *symbol)
{
    int capitals = 0, smalls = 0;
    for (; *symbol; symbol++) {
        capitals |= *symbol >= 'A' && *symbol <= 'Z';
        smalls |= *symbol >= 'a' && *symbol <= 'z';
    }
    return !(capitals && smalls);
}

/* Without what stands for the profiling interface: pmpi_, pmpir_. */
static const char *plain_name(char *name)
{
    if (name[0] != 'p')
        return name;
    if (name[1] == 'm' && name[2] == 'p' && name[3] == 'i' && name[4] == 'r' && name[5] == '_') {
        xw_copy(name + 2, sizeof "mpi", "mpi");
        name[5] = '_';
        return name + 2;
    }
    return name + 1;
}

int xw_fortran_row(const char *symbol)
{
    char name[XW_FORTRAN_MAX_SYMBOL];
    if (xw_length(symbol) >= sizeof name || !is_one_case(symbol))
        return -1;
    copy_lower(name, symbol);
    while (cut(name, "_"))
        ;
    cut(name, "_large");
    if (!cut(name, "_f08ts"))
        cut(name, "_f08");
    const char *plain = plain_name(name);
    make_index();
    int row = find(plain);
    return row < 0 && cut(name, "_c") ? find(plain) : row;
}
