/*
 * LEB128 integers, as format.h defines them.
 */
#ifndef XW_VARINT_H
#define XW_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define XW_VARINT_MAX 10u /* bytes that one integer can take */

static inline uint8_t *xw_put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

static inline uint8_t *xw_put_svarint(uint8_t *at, int64_t value)
{
    return xw_put_varint(at, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

#endif
