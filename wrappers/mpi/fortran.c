#include "fortran.h"

#include "counters.h"
#include "fortran_names.h"
#include "segment.h"
#include "text.h"

__thread struct xw_fortran_call xw_fortran_call;
#define XW_OFFSET_IS(member, offset)                                                                                   \
    _Static_assert(offsetof(struct xw_fortran_call, member) == (offset), "as the assembler has it")
XW_OFFSET_IS(stack, XW_FORTRAN_STACK);
XW_OFFSET_IS(place, XW_FORTRAN_PLACE);
XW_OFFSET_IS(name, XW_FORTRAN_NAME);
XW_OFFSET_IS(function, XW_FORTRAN_FUNCTION);
XW_OFFSET_IS(taken_up, XW_FORTRAN_TAKEN_UP);
XW_OFFSET_IS(gate, XW_FORTRAN_GATE);
XW_OFFSET_IS(from, XW_FORTRAN_FROM);
_Static_assert(sizeof(struct xw_mpi_counted) == 4 && offsetof(struct xw_mpi_counted, function) == 0 &&
                   XW_MPI_PLAIN == 0 && XW_MPI_N_NAMES == 2,
               "as the gates read it");

/* --- the pool of stubs --- */

enum { ENTRY_SIZE = 16, INDEX_SIZE = 2 * XW_FORTRAN_NAMES };
extern const char xw_fortran_stubs[] XW_HIDDEN;
extern const char xw_fortran_gates[] XW_HIDDEN;
extern const char xw_fortran_count_here[] XW_HIDDEN;
extern const void *xw_fortran_targets[XW_FORTRAN_NAMES] XW_HIDDEN;
extern uint16_t xw_fortran_functions[XW_FORTRAN_NAMES] XW_HIDDEN;

/* In the order in which they were found; never given back. */
static struct name {
    char symbol[XW_FORTRAN_MAX_SYMBOL];
    void *real;
    uint32_t row; /* of the table */
} names[XW_FORTRAN_NAMES];
static unsigned n_names;
static uint16_t names_by_hash[INDEX_SIZE];        /* open addressing: number + 1, 0: free */
const void *xw_fortran_targets[XW_FORTRAN_NAMES]; /* where the stubs lead to */
uint16_t xw_fortran_functions[XW_FORTRAN_NAMES];  /* what the names count as */

int xw_fortran_name(const char *symbol)
{
    uint32_t i = xw_elf_hash(symbol) % INDEX_SIZE;
    for (; names_by_hash[i]; i = (i + 1) % INDEX_SIZE)
        if (xw_equal(names[names_by_hash[i] - 1].symbol, symbol))
            return names_by_hash[i] - 1;
    int row = n_names < XW_FORTRAN_NAMES ? xw_fortran_row(symbol) : -1;
    if (row < 0)
        return -1;
    xw_copy(names[n_names].symbol, XW_FORTRAN_MAX_SYMBOL, symbol);
    names[n_names].row = (uint32_t)row;
    xw_fortran_functions[n_names] = xw_mpi_counted[row].function;
    names_by_hash[i] = (uint16_t)++n_names;
    return (int)n_names - 1;
}

const char *xw_fortran_symbol(int name) { return names[name].symbol; }
void **xw_fortran_real(int name) { return &names[name].real; }

static void *entry(const char *entries, unsigned number) { return (void *)(uintptr_t)(entries + number * ENTRY_SIZE); }

void *xw_fortran_stub(int name) { return entry(xw_fortran_stubs, (unsigned)name); }

void *xw_fortran_gate(unsigned row, enum xw_mpi_name name)
{
    return entry(xw_fortran_gates, row * XW_MPI_N_NAMES + name);
}

/* --- the MPI library's bindings --- */

enum { MAX_BINDINGS = 8 };
static struct xw_elf_range bindings[MAX_BINDINGS];
static unsigned n_bindings;
static uint8_t reached[XW_N_FUNCTIONS];

/* Tools define Fortran names as well, but not those that they themselves call. */
static int defines_profiling_names(const struct xw_elf *object)
{
    static const char start[][16] = {"pmpi_init_", "pmpi_init", "pmpi_init__", "PMPI_INIT", "pmpi_init_f08_"};
    for (unsigned i = 0; i < sizeof start / sizeof start[0]; i++)
        if (xw_elf_definition(object, start[i], xw_elf_hash(start[i])))
            return 1;
    return 0;
}

void xw_fortran_begin(void) { n_bindings = 0; }

int xw_fortran_note_binding(const struct xw_elf *object)
{
    if (n_bindings == MAX_BINDINGS || !defines_profiling_names(object))
        return 0;
    bindings[n_bindings++] = xw_elf_range(object);
    return 1;
}

void xw_fortran_note_reached(unsigned row) { reached[xw_mpi_counted[row].function] = 1; }

static int is_in_binding(uintptr_t address)
{
    for (unsigned i = 0; i < n_bindings; i++)
        if (address - bindings[i].begin < bindings[i].end - bindings[i].begin)
            return 1;
    return 0;
}

int xw_fortran_is_binding(const struct xw_elf *object) { return is_in_binding(xw_elf_range(object).begin); }

void xw_fortran_connect(void)
{
    for (unsigned i = 0; i < n_names; i++) {
        int ends_there = is_in_binding((uintptr_t)names[i].real) && !reached[xw_fortran_functions[i]];
        __atomic_store_n(&xw_fortran_targets[i], ends_there ? xw_fortran_count_here : names[i].real, __ATOMIC_RELEASE);
    }
}

/* --- calls that no C wrapper will see --- */

/* From the stubs: count the call; the function to go on to. */
const void *xw_fortran_count(uint32_t name, const void *place) XW_HIDDEN;

const void *xw_fortran_count(uint32_t name, const void *place)
{
    const struct xw_mpi_counted counted = xw_mpi_counted[names[name].row];
    struct xw_call call = xw_enter_mpi(counted.function, counted.group);
    if (call.outermost)
        xw_segment_site(counted.function, place);
    xw_leave(call, counted.function, counted.group, 0, 0);
    if (call.block)
        xw_fortran_call.taken_up = 1;
    return names[name].real;
}
