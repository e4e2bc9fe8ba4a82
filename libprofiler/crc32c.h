/* The check sum of records: CRC-32C, as RFC 3720 defines it. */
#ifndef XW_CRC32C_H
#define XW_CRC32C_H

#include "os.h"

uint32_t xw_crc32c(const uint8_t *data, size_t length) XW_HIDDEN;

#endif
