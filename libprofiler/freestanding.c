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

/* A word that may lie anywhere and overlay anything. */
struct word {
    uint64_t value;
} __attribute__((packed, may_alias));

/* Up to 256 bytes by words, the last one overlapping the one before: `rep movsb` takes some 20 ns to begin. */
static void copy_words(unsigned char *to, const unsigned char *from, size_t n)
{
    for (size_t i = 0; i + 8 < n; i += 8)
        *(struct word *)(to + i) = *(const struct word *)(from + i);
    *(struct word *)(to + n - 8) = *(const struct word *)(from + n - 8);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    void *start = to;
    if (n >= 8 && n <= 256)
        copy_words(to, from, n);
    else
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
