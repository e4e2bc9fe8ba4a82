#include "file_table.h"

enum { PROBES = 32 };

static uint64_t key_of(uint64_t file) { return file & ~(uint64_t)(XW_FILE_READ | XW_FILE_WRITTEN | XW_FILE_APPENDS); }

int xw_files_note(uint64_t table[XW_N_FILES], uint64_t file)
{
    _Static_assert((XW_N_FILES & (XW_N_FILES - 1)) == 0, "a power of two");
    file &= ~(uint64_t)XW_FILE_APPENDS;
    const uint64_t first = file >> 32;
    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t *entry = &table[(first + i) % XW_N_FILES];
        uint64_t there = __atomic_load_n(entry, __ATOMIC_RELAXED);
        if (!there && __atomic_compare_exchange_n(entry, &there, file, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return 1;
        if (key_of(there) != key_of(file))
            continue;
        if ((there | file) != there)
            __atomic_fetch_or(entry, file, __ATOMIC_RELAXED);
        return 1;
    }
    return 0;
}

void xw_files_copy(uint64_t to[XW_N_FILES], const uint64_t from[XW_N_FILES])
{
    for (unsigned i = 0; i < XW_N_FILES; i++) {
        const uint64_t file = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
        if (file && file != to[i])
            __atomic_store_n(&to[i], file, __ATOMIC_RELAXED);
    }
}

/* The finaliser of splitmix64: every bit of the value changes half of the result's. */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

uint64_t xw_file_identity(const uint64_t *words, unsigned n)
{
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (unsigned i = 0; i < n; i++)
        hash = mix(hash + words[i] + 0x9E3779B97F4A7C15u * i);
    hash &= ~(uint64_t)(XW_FILE_IDENTITY - 1);
    return hash ? hash : XW_FILE_IDENTITY;
}
