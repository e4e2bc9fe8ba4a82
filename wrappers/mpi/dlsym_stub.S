/*
 * What calls of dlsym lead to (attach.h). The real function finds its caller by the return address on the stack, so it
 * is jumped to, with everything as the caller left it.
 */
    .section .note.GNU-stack, "", @progbits
    .text
    .balign 16
    .globl xw_mpi_dlsym_stub
    .hidden xw_mpi_dlsym_stub
    .type xw_mpi_dlsym_stub, @function
xw_mpi_dlsym_stub:
    .cfi_startproc
    endbr64
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    sub $8, %rsp
    .cfi_adjust_cfa_offset 8
    call xw_mpi_before_dlsym
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    jmp *xw_mpi_real_dlsym(%rip)
    .cfi_endproc
    .size xw_mpi_dlsym_stub, . - xw_mpi_dlsym_stub
