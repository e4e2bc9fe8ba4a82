#include "spool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "spool_dir.h"
#include "spool_header.h"
#include "write_signals.h"

enum { PAGE = 4096, FILES_SIZE = XW_N_FILES * sizeof(uint64_t), FILES_CHUNK = 2 /* its number */ };

static uint64_t round_up(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }

/* --- the file --- */

/* JOB.RANK.PID.TIME.xws */
static void file_name(char *name, size_t size, const struct xw_config *config, uint64_t start_ns)
{
    struct xw_text text = xw_text_begin(name, size);
    xw_spool_harmless(&text, config->job_id[0] ? config->job_id : "nojob");
    xw_text_char(&text, '.');
    if (config->rank >= 0)
        xw_text_number(&text, (uint64_t)config->rank);
    else
        xw_text_char(&text, 'x');
    xw_text_char(&text, '.');
    xw_text_number(&text, (uint64_t)xw_syscall(SYS_getpid));
    xw_text_char(&text, '.');
    xw_text_number(&text, start_ns);
    xw_text_add(&text, ".xws");
}

/* Whether [offset, offset + size) of the file is really there: a page that a full file system cannot give is a SIGBUS
 * later. */
static int allocate(int fd, uint64_t offset, uint64_t size)
{
    const struct xw_write_signals signals = xw_write_signals_hold();
    const long result = xw_syscall(SYS_fallocate, fd, 0, offset, size);
    xw_write_signals_release(&signals);
    return !xw_failed(result);
}

static uint8_t *map(int fd, uint64_t offset, uint64_t size)
{
    long flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    long at = xw_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, flags, fd, fd >= 0 ? offset : 0);
    if (xw_failed(at))
        return NULL;
    xw_syscall(SYS_madvise, at, size, MADV_DONTFORK); /* a child makes its own */
    return (uint8_t *)at;
}

/* A new file of the size, mapped, with its room allocated; NULL: none could be made. */
static uint8_t *create_file(int directory, const char *name, uint64_t size, struct stat *st)
{
    uint8_t *mapped = NULL;
    long fd = xw_syscall(SYS_openat, directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (xw_failed(fd))
        return NULL;
    if (allocate((int)fd, 0, size) && !xw_failed(xw_syscall(SYS_fstat, fd, st)))
        mapped = map((int)fd, 0, size);
    xw_syscall(SYS_close, fd);
    return mapped;
}

/* --- chunks --- */

/* Readers may look at any moment: the entry is complete before it is counted. */
static void add_chunk(struct xw_spool *spool, struct xw_spool_header *header, uint32_t kind, uint64_t offset,
                      uint32_t size)
{
    uint32_t n = header->n_chunks;
    header->chunk[n] = (struct xw_chunk){.offset = offset, .size = size, .kind = kind};
    if (kind == XW_CHUNK_THREADS)
        __atomic_fetch_add(&spool->free_blocks, size / (uint32_t)sizeof(struct xw_thread_block), __ATOMIC_RELAXED);
    __atomic_store_n(&header->n_chunks, n + 1, __ATOMIC_RELEASE);
}

/* The first block is the one that threads without a block of their own share. */
static void reserve_shared_block(struct xw_spool *spool, struct xw_thread_block *blocks)
{
    blocks->head.state = XW_SLOT_SHARED;
    __atomic_fetch_sub(&spool->free_blocks, 1, __ATOMIC_RELAXED);
}

static uint64_t first_blocks_size(void) { return round_up(XW_FIRST_THREADS * sizeof(struct xw_thread_block), PAGE); }

int xw_spool_begin(struct xw_spool *spool, const struct xw_config *config, const struct xw_instant *now)
{
    uint8_t *base = map(-1, 0, XW_HEADER_SIZE + first_blocks_size());
    if (!base)
        return 0;
    struct xw_spool_header *header = (struct xw_spool_header *)base;
    header->start = *now;
    header->slice_ns = config->slice_ns;
    header->rank = config->rank;
    add_chunk(spool, header, XW_CHUNK_THREADS, (uint64_t)(base + XW_HEADER_SIZE), (uint32_t)first_blocks_size());
    reserve_shared_block(spool, (struct xw_thread_block *)(base + XW_HEADER_SIZE));
    spool->memory = header;
    spool->header = header;
    return 1;
}

/* What the process has found out about itself so far. */
static void copy_state(struct xw_spool_header *to, const struct xw_spool_header *from)
{
    to->tick_source = from->tick_source;
    to->tick_hz = from->tick_hz;
    for (unsigned i = 0; i < XW_N_LOST; i++)
        to->lost[i] = from->lost[i];
}

/* Where the parts of a new file lie. */
struct layout {
    uint64_t log, threads, files, size;
};

static struct layout first_layout(void)
{
    const uint64_t log = round_up(XW_HEADER_SIZE + xw_table_size, PAGE), threads = log + PAGE;
    const uint64_t files = threads + first_blocks_size();
    return (struct layout){.log = log, .threads = threads, .files = files, .size = files + FILES_SIZE};
}

/* Everything that a reader expects, in a file that has no name yet. */
static void fill_file(struct xw_spool *spool, const struct xw_config *config, uint8_t *base,
                      const struct layout *layout)
{
    struct xw_spool_header *header = (struct xw_spool_header *)base;
    memcpy(base + XW_HEADER_SIZE, xw_table_text, xw_table_size);
    xw_spool_fill_header(header, config, &spool->memory->start);
    copy_state(header, spool->memory);
    header->start_ticks = xw_start_ticks();
    memcpy(header->magic, XW_SPOOL_MAGIC, sizeof header->magic);
    spool->chunk[0] = base + layout->threads;
    spool->chunk[1] = base + layout->log;
    spool->chunk[FILES_CHUNK] = base + layout->files;
    spool->free_blocks = 0;
    add_chunk(spool, header, XW_CHUNK_THREADS, layout->threads, (uint32_t)first_blocks_size());
    add_chunk(spool, header, XW_CHUNK_SLICES, layout->log, PAGE);
    add_chunk(spool, header, XW_CHUNK_FILES, layout->files, FILES_SIZE);
    reserve_shared_block(spool, (struct xw_thread_block *)spool->chunk[0]);
}

/* Make the complete file under a temporary name in the directory and give it its own. Returns where it is mapped or
 * NULL. */
static uint8_t *make_file(struct xw_spool *spool, const struct xw_config *config, int directory)
{
    const struct layout layout = first_layout();
    const uint64_t start_ns = spool->memory->start.real_ns;
    char temporary[64], name[160];
    struct stat st;
    xw_spool_temporary_name(temporary, sizeof temporary, start_ns);
    file_name(name, sizeof name, config, start_ns);
    uint8_t *base = create_file(directory, temporary, layout.size, &st);
    if (base)
        fill_file(spool, config, base, &layout);
    if (!base || xw_failed(xw_syscall(SYS_renameat, directory, temporary, directory, name))) {
        xw_syscall(SYS_unlinkat, directory, temporary, 0);
        return NULL;
    }
    spool->device = st.st_dev;
    spool->inode = st.st_ino;
    spool->file_size = layout.size;
    struct xw_text path = xw_text_begin(spool->path, sizeof spool->path);
    xw_text_add(&path, config->spool);
    xw_text_char(&path, '/');
    xw_text_add(&path, name);
    return base;
}

int xw_spool_publish(struct xw_spool *spool, const struct xw_config *config)
{
    int directory = xw_spool_open_directory(config->spool);
    uint8_t *base = directory < 0 ? NULL : make_file(spool, config, directory);
    if (directory >= 0)
        xw_syscall(SYS_close, directory);
    if (!base) {
        spool->memory->lost[XW_LOST_SPOOL]++;
        return 0;
    }
    spool->slices.kind = XW_CHUNK_SLICES;
    spool->blocks.kind = XW_CHUNK_BLOCKS;
    spool->sites.kind = XW_CHUNK_SITES;
    __atomic_store_n(&spool->header, (struct xw_spool_header *)base, __ATOMIC_RELEASE);
    xw_spool_carry_over(spool);
    return 1;
}

int xw_spool_is_published(const struct xw_spool *spool) { return spool->header != spool->memory; }

/* The file behind the mapping, opened again for a moment; -1 when it is gone or another one has its name. */
static int reopen(const struct xw_spool *spool)
{
    long fd = xw_syscall(SYS_open, spool->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (xw_failed(fd))
        return -1;
    struct stat st;
    if (!xw_failed(xw_syscall(SYS_fstat, fd, &st)) && st.st_dev == spool->device && st.st_ino == spool->inode)
        return (int)fd;
    xw_syscall(SYS_close, fd);
    return -1;
}

/* A process that could not be published still wants blocks for its threads. */
static int grow_memory(struct xw_spool *spool, uint32_t kind, uint32_t size)
{
    uint8_t *mapped = kind == XW_CHUNK_THREADS ? map(-1, 0, size) : NULL;
    if (mapped)
        add_chunk(spool, spool->memory, kind, (uint64_t)mapped, size);
    return mapped != NULL;
}

static int grow_file(struct xw_spool *spool, uint32_t kind, uint32_t size)
{
    const uint64_t offset = spool->file_size;
    uint8_t *mapped = NULL;
    int fd = reopen(spool);
    if (fd < 0)
        return 0;
    if (allocate(fd, offset, size))
        mapped = map(fd, offset, size);
    xw_syscall(SYS_close, fd);
    if (!mapped)
        return 0;
    spool->file_size = offset + size;
    spool->chunk[spool->header->n_chunks] = mapped;
    add_chunk(spool, spool->header, kind, offset, size);
    return 1;
}

int xw_spool_grow(struct xw_spool *spool, uint32_t kind, uint32_t size)
{
    if (__atomic_exchange_n(&spool->growing, 1, __ATOMIC_ACQUIRE))
        return 0;
    int grown = 0;
    if (spool->header->n_chunks < XW_MAX_CHUNKS) {
        size = (uint32_t)round_up(size, PAGE);
        grown = xw_spool_is_published(spool) ? grow_file(spool, kind, size) : grow_memory(spool, kind, size);
    }
    __atomic_store_n(&spool->growing, 0, __ATOMIC_RELEASE);
    return grown;
}

void *xw_spool_area(const struct xw_spool *spool, uint32_t kind)
{
    if (!xw_spool_is_published(spool))
        return NULL;
    const uint32_t n = __atomic_load_n(&spool->header->n_chunks, __ATOMIC_ACQUIRE);
    for (uint32_t c = 0; c < n; c++)
        if (spool->header->chunk[c].kind == kind)
            return spool->chunk[c];
    return NULL;
}

/* --- thread blocks --- */

static struct xw_thread_block *block_of(const struct xw_spool *spool, const struct xw_spool_header *header, unsigned i)
{
    uint32_t n = __atomic_load_n(&header->n_chunks, __ATOMIC_ACQUIRE);
    for (uint32_t c = 0; c < n; c++) {
        if (header->chunk[c].kind != XW_CHUNK_THREADS)
            continue;
        uint32_t blocks = header->chunk[c].size / (uint32_t)sizeof(struct xw_thread_block);
        if (i < blocks)
            return (header == spool->memory ? (struct xw_thread_block *)header->chunk[c].offset
                                            : (struct xw_thread_block *)spool->chunk[c]) +
                   i;
        i -= blocks;
    }
    return NULL;
}

struct xw_thread_block *xw_spool_block(const struct xw_spool *spool, unsigned i)
{
    return block_of(spool, __atomic_load_n(&spool->header, __ATOMIC_ACQUIRE), i);
}

struct xw_thread_block *xw_spool_early_block(const struct xw_spool *spool, unsigned i)
{
    return block_of(spool, spool->memory, i);
}

/* A block as one row of words. */
static uint64_t *words_of(struct xw_thread_block *block) { return &block->group[0].calls; }

/* How many early blocks some thread has had. They are taken in order, so those behind a free one hold nothing. */
static unsigned n_early_in_use(const struct xw_spool *spool)
{
    const struct xw_thread_block *block;
    unsigned n = 1; /* the shared one */
    while ((block = xw_spool_early_block(spool, n)) &&
           __atomic_load_n(&block->head.state, __ATOMIC_ACQUIRE) != XW_SLOT_FREE)
        n++;
    return n;
}

void xw_spool_carry_over(struct xw_spool *spool)
{
    if (!xw_spool_is_published(spool))
        return;
    uint64_t *shared = words_of(xw_spool_block(spool, 0));
    const unsigned n = n_early_in_use(spool);
    for (unsigned w = 0; w < XW_BLOCK_WORDS; w++) {
        uint64_t total = 0;
        for (unsigned i = 0; i < n; i++)
            total += __atomic_load_n(&words_of(xw_spool_early_block(spool, i))[w], __ATOMIC_RELAXED);
        if (total > spool->carried[w]) {
            __atomic_fetch_add(&shared[w], total - spool->carried[w], __ATOMIC_RELAXED);
            spool->carried[w] = total;
        }
    }
}

void xw_spool_store_files(struct xw_spool *spool, const uint64_t files[XW_N_FILES])
{
    if (xw_spool_is_published(spool))
        xw_files_copy((uint64_t *)spool->chunk[FILES_CHUNK], files);
}
