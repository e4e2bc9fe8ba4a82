#include "log.h"

#include <string.h>

#include "crc32c.h"
#include "spool.h"

static uint32_t record_size(uint32_t length) { return 8 + (length + 3) / 4 * 4; }

/* Begin the next chunk of the log's kind, if there is one. */
static int next_chunk(struct xw_spool *spool, struct xw_log *log)
{
    uint32_t n = __atomic_load_n(&spool->header->n_chunks, __ATOMIC_ACQUIRE);
    for (uint32_t c = log->base ? log->chunk + 1 : 0; c < n; c++) {
        if (spool->header->chunk[c].kind != log->kind)
            continue;
        log->chunk = c;
        log->base = spool->chunk[c];
        log->size = spool->header->chunk[c].size;
        log->used = 0;
        return 1;
    }
    return 0;
}

int xw_log_begin(struct xw_spool *spool, struct xw_log *log, uint32_t length)
{
    while (!log->base || log->size - log->used < record_size(length))
        if (!next_chunk(spool, log))
            return -1;
    return log->used == 0;
}

void xw_log_append(struct xw_log *log, const uint8_t *payload, uint32_t length)
{
    uint8_t *at = log->base + log->used;
    uint32_t crc = xw_crc32c(payload, length);
    memcpy(at + 8, payload, length);
    memcpy(at + 4, &crc, 4);
    __atomic_store_n((uint32_t *)at, length, __ATOMIC_RELEASE); /* the commit */
    log->used += record_size(length);
}

uint64_t xw_log_room(const struct xw_spool *spool, const struct xw_log *log)
{
    uint64_t room = log->base ? log->size - log->used : 0;
    uint32_t n = __atomic_load_n(&spool->header->n_chunks, __ATOMIC_ACQUIRE);
    for (uint32_t c = log->base ? log->chunk + 1 : 0; c < n; c++)
        if (spool->header->chunk[c].kind == log->kind)
            room += spool->header->chunk[c].size;
    return room;
}
