/*
 * The three functions that a compiler may call on its own. Defined here and hidden, so that the helper thread, which
 * must not pass through the PLT, never leaves the library.
 */
#include <stddef.h>
#include <stdint.h>

#include "os.h"

XW_HIDDEN void *memcpy(void *restrict to, const void *restrict from, size_t n);
XW_HIDDEN void *memset(void *to, int value, size_t n);
XW_HIDDEN void *memmove(void *to, const void *from, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    void *start = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    return start;
}

void *memset(void *to, int value, size_t n)
{
    void *start = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
    return start;
}

void *memmove(void *to, const void *from, size_t n)
{
    if ((uintptr_t)to - (uintptr_t)from >= n)
        return memcpy(to, from, n);
    unsigned char *target = (unsigned char *)to + n;
    const unsigned char *source = (const unsigned char *)from + n;
    while (n--)
        *--target = *--source;
    return to;
}
