/*
 * What Fortran calls pass through: stubs and gates (fortran.h). Only r10, r11 and the flags are changed, which no
 * caller may rely on and which every lazily bound call changes as well.
 */
#include "fortran.h"
#include "mpi_table.h" /* generated: XW_MPI_N */

    .section .note.GNU-stack, "", @progbits
    .text

    .macro hidden_function name
    .balign 16
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .endm

/* Entries of 16 bytes that load their number into r11. */
    .macro entries n, target
    .set number, 0
    .rept \n
    endbr64
    mov $number, %r11d
    jmp \target
    .balign 16
    .set number, number + 1
    .endr
    .endm

/* The offset of xw_fortran_call into r10; elsewhere if the thread has no memory of its own, as xw_tls_usable finds. */
    .macro thread_call elsewhere
    mov xw_tls_self_offset(%rip), %r10
    mov %fs:(%r10), %r10
    cmp %r10, %fs:0
    jne \elsewhere
    test %r10, %r10
    jz \elsewhere
    mov xw_fortran_call@gottpoff(%rip), %r10
    .endm

hidden_function xw_fortran_stubs
    .cfi_startproc
    entries XW_FORTRAN_NAMES, announce
    .cfi_endproc
    .size xw_fortran_stubs, . - xw_fortran_stubs

/* r11: number of the name */
hidden_function announce
    .cfi_startproc
    thread_call 1f
    mov %rsp, %fs:XW_FORTRAN_STACK(%r10)
    movl $0, %fs:XW_FORTRAN_TAKEN_UP(%r10)
    mov %r11d, %fs:XW_FORTRAN_NAME(%r10)
    mov (%rsp), %r11
    mov %r11, %fs:XW_FORTRAN_PLACE(%r10)
    mov %fs:XW_FORTRAN_NAME(%r10), %r11d
    lea xw_fortran_functions(%rip), %r10
    movzwl (%r10, %r11, 2), %r11d
    mov xw_fortran_call@gottpoff(%rip), %r10
    mov %r11d, %fs:XW_FORTRAN_FUNCTION(%r10)
    mov %fs:XW_FORTRAN_NAME(%r10), %r11d
1:  lea xw_fortran_targets(%rip), %r10
    jmp *(%r10, %r11, 8)
    .cfi_endproc
    .size announce, . - announce

/* Gate 2 f + n belongs to function f by name n (enum xw_mpi_name). */
hidden_function xw_fortran_gates
    .cfi_startproc
    entries (2 * XW_MPI_N), compare
    .cfi_endproc
    .size xw_fortran_gates, . - xw_fortran_gates

/* r11: number of the gate */
hidden_function compare
    .cfi_startproc
    thread_call to_wrapper
    cmp %fs:XW_FORTRAN_STACK(%r10), %rsp
    jae to_wrapper
    cmpl $0, %fs:XW_FORTRAN_TAKEN_UP(%r10)
    jne to_real
    mov %r11d, %fs:XW_FORTRAN_GATE(%r10)
    and $~1, %r11d
    lea xw_mpi_counted(%rip), %r10
    movzwl (%r10, %r11, 2), %r11d /* entries of 4 bytes, one for two gates */
    mov xw_fortran_call@gottpoff(%rip), %r10
    cmp %r11d, %fs:XW_FORTRAN_FUNCTION(%r10)
    mov %fs:XW_FORTRAN_GATE(%r10), %r11d
    jne to_real
    movl $1, %fs:XW_FORTRAN_TAKEN_UP(%r10)
    mov (%rsp), %r11
    mov %r11, %fs:XW_FORTRAN_FROM(%r10)
    mov %fs:XW_FORTRAN_GATE(%r10), %r11d
to_wrapper:
    lea xw_mpi_wrapper_offsets(%rip), %r10
    movslq (%r10, %r11, 4), %r11
    add %r10, %r11
    jmp *%r11
to_real:
    lea xw_mpi_real(%rip), %r10
    jmp *(%r10, %r11, 8)
    .cfi_endproc
    .size compare, . - compare

/*
 * Target of the names that no C function will be called for, instead of their real functions: count the call, go on.
 * All registers that may hold arguments are kept. r11: number of the name.
 */
hidden_function xw_fortran_count_here
    .cfi_startproc
    endbr64
    sub $200, %rsp
    .cfi_adjust_cfa_offset 200
    mov %rax, 0(%rsp)
    mov %rdi, 8(%rsp)
    mov %rsi, 16(%rsp)
    mov %rdx, 24(%rsp)
    mov %rcx, 32(%rsp)
    mov %r8, 40(%rsp)
    mov %r9, 48(%rsp)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movups %xmm\n, 64 + 16 * \n(%rsp)
    .endr
    mov %r11d, %edi
    mov 200(%rsp), %rsi
    call xw_fortran_count
    mov %rax, %r11
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    movups 64 + 16 * \n(%rsp), %xmm\n
    .endr
    mov 48(%rsp), %r9
    mov 40(%rsp), %r8
    mov 32(%rsp), %rcx
    mov 24(%rsp), %rdx
    mov 16(%rsp), %rsi
    mov 8(%rsp), %rdi
    mov 0(%rsp), %rax
    add $200, %rsp
    .cfi_adjust_cfa_offset -200
    jmp *%r11
    .cfi_endproc
    .size xw_fortran_count_here, . - xw_fortran_count_here
