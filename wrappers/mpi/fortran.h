/*
 * Fortran over C: a program's call of MPI_Send in Fortran is counted where the MPI library's Fortran binding, an object
 * of its own, calls the C function. So no Fortran argument has to be understood. Two things are added: the place of the
 * call in the program, and which of the binding's C calls is the program's and which are for itself.
 *
 *     program --> stub --> binding: mpi_send_ --> gate of MPI_Send --> wrapper --> MPI library
 *                  |                  |                 |   |                        ^
 *               announces             |             compares|                        |
 *                  '--> struct xw_fortran_call (thread) <---'                        |
 *                                     '---------> gate of MPI_Comm_size -------------'  not counted
 *
 * Stub: the slots of Fortran names, outside of bindings, lead to a pool of stubs, one for each name that loaded objects
 * call. It notes function, place and stack pointer in thread-local memory and jumps to the real function. Where no
 * binding takes the C function from elsewhere (MPI_Comm_get_attr of most libraries) it counts the call itself, without
 * bytes and time.
 *
 * Gate: a binding's slots of C functions lead to gates. The first call of the announced function goes on to the
 * wrapper, all others inside the announced call go on to the real function. Without an announcement, or from further
 * out on the stack than it (it is of a call that has returned), the call goes to the wrapper: it counts like one from
 * C.
 *
 * Stubs and gates are in fortran_stubs.S. They change no argument, nothing on the stack, and no register that matters
 * between a caller and a function.
 */
#ifndef XW_MPI_FORTRAN_H
#define XW_MPI_FORTRAN_H

/* Size of the pool of stubs. The call of a name beyond it counts like one from C. */
#define XW_FORTRAN_NAMES 1024

/* struct xw_fortran_call, for the assembler */
#define XW_FORTRAN_STACK 0
#define XW_FORTRAN_PLACE 8
#define XW_FORTRAN_NAME 16
#define XW_FORTRAN_FUNCTION 20
#define XW_FORTRAN_TAKEN_UP 24
#define XW_FORTRAN_GATE 28
#define XW_FORTRAN_FROM 32

#ifndef __ASSEMBLER__

#include "loaded.h"
#include "table.h"

/* The Fortran call that the thread announced last. */
struct xw_fortran_call {
    uintptr_t stack;   /* where its return address lies; 0: none so far */
    const void *place; /* its return address */
    uint32_t name;     /* number in the pool */
    uint32_t function; /* what it counts as */
    uint32_t taken_up; /* a gate has let it through, or it has been counted */
    uint32_t gate;     /* scratch of the gates */
    const void *from;  /* return address of the C call that was let through */
};
extern __thread struct xw_fortran_call xw_fortran_call XW_HIDDEN __attribute__((tls_model("initial-exec")));

/* --- for got.c, one thread at a time: begin, note every object and all its names, connect --- */

void xw_fortran_begin(void) XW_HIDDEN;
/* Whether the object is one of the MPI library's Fortran bindings, which is remembered. */
int xw_fortran_note_binding(const struct xw_elf *object) XW_HIDDEN;
int xw_fortran_is_binding(const struct xw_elf *object) XW_HIDDEN;
/* A binding takes this C function from elsewhere. */
void xw_fortran_note_reached(unsigned row) XW_HIDDEN;
/* The number of a name in the pool, which takes it in; -1: no function of the table, or no room. */
int xw_fortran_name(const char *symbol) XW_HIDDEN;
const char *xw_fortran_symbol(int name) XW_HIDDEN;
/* Where the address of its real function is to be written, once. */
void **xw_fortran_real(int name) XW_HIDDEN;
void *xw_fortran_stub(int name) XW_HIDDEN;
void *xw_fortran_gate(unsigned row, enum xw_mpi_name name) XW_HIDDEN;
/* All is known: make the stubs lead on. Slots may be made to lead to stubs and gates afterwards. */
void xw_fortran_connect(void) XW_HIDDEN;

/* --- for counted calls --- */

/* From where in the program a counted call comes, given its return address. The thread's memory must be usable. */
static inline const void *xw_fortran_place(const void *return_address)
{
    return xw_fortran_call.from == return_address ? xw_fortran_call.place : return_address;
}

#endif
#endif
