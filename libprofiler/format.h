/*
 * The spool file: what one process writes while it runs. docs/format.md is its specification.
 *
 *     offset 0        struct xw_spool_header                                     XW_HEADER_SIZE bytes
 *     table_offset    table text: one line per column, segment field, lost counter, array of words, function
 *     chunk[0..n)     areas of one kind each, page-aligned, in any order:
 *                       XW_CHUNK_THREADS   struct xw_thread_block[size / block_size]
 *                       XW_CHUNK_SLICES    log of slice records
 *                       XW_CHUNK_SEGMENTS  log of segment records, in files of version 1
 *                       XW_CHUNK_FILES     table of the files that the process read and wrote
 *                       XW_CHUNK_ROWS      rows of segments that are in no block yet
 *                       XW_CHUNK_BLOCKS    log of blocks of segments
 *                       XW_CHUNK_SITES     log of the places of calls that ended segments
 *
 * The file is mapped MAP_SHARED and readable at any moment. Nothing in it is ever reset or moved:
 *   - counters only grow, each written by one thread with plain stores (the overflow block: with atomic adds);
 *   - a log is append-only. A record is
 *
 *         0      4      8                8 + length   (next record: aligned to 4)
 *         +------+------+----------------+
 *         |length| crc  | payload ...    |            length 0: the end of what this chunk holds
 *         +------+------+----------------+
 *
 *     The writer stores payload and crc, then release-stores length: that is the commit. A reader takes a record
 *     only if the length lies in the chunk and the crc (CRC-32C of the payload) agrees. The records of
 *     one kind continue in the next chunk of that kind, in the order of the chunk table. Differences to the previous
 *     record start from zero in each chunk, so that a damaged chunk takes no other with it.
 *   - the chunk table is append-only too: entry first, then n_chunks with release.
 *
 * Integers are little-endian. `varint` is unsigned LEB128, `svarint` zigzag in LEB128.
 */
/*
 * The log of short processes: one file per job step, user and node (*.xwl). A process gets a spool file of its own when
 * it calls MPI_Init or has lived for some two seconds; one that ends earlier appends one record here, so that the
 * thousands of short processes of a job cost microseconds and some hundred bytes each.
 *
 *     offset 0        struct xw_spool_header with XW_SHORT_MAGIC; pid, exe and the like are those of its first writer
 *     table_offset    table text
 *     records         right behind the table text, to the end of the file: {length, crc, payload} as in a log, aligned
 * to 4
 *
 * Each record is one O_APPEND write. A reader steps over a torn one.
 */
#ifndef XW_FORMAT_H
#define XW_FORMAT_H

#include <stdint.h>

#define XW_SPOOL_MAGIC "XWSPOOL" /* with its NUL: 8 bytes */
#define XW_SHORT_MAGIC "XWSHORT"
#define XW_SPOOL_VERSION 3u /* 1: segments are records of their own; 2: places have no numbers */
#define XW_SHORT_VERSION 2u /* 1: its records end with the functions */
#define XW_HEADER_SIZE 4096u
#define XW_MAX_CHUNKS 96u

enum xw_chunk_kind {
    XW_CHUNK_THREADS = 1,
    XW_CHUNK_SLICES = 2,
    XW_CHUNK_SEGMENTS = 3,
    XW_CHUNK_FILES = 4,
    XW_CHUNK_ROWS = 5,
    XW_CHUNK_BLOCKS = 6,
    XW_CHUNK_SITES = 7
};

/* How the process ended, as far as it could say so itself. */
enum xw_state {
    XW_STATE_RUNNING = 1, /* or killed, or replaced by exec: whether the pid still lives tells */
    XW_STATE_CLEAN = 2,   /* destructors ran */
    XW_STATE_EXITED = 3   /* _exit, _Exit, quick_exit */
};

struct xw_chunk {
    uint64_t offset;
    uint32_t size;
    uint32_t kind; /* enum xw_chunk_kind */
};

/* One reading of all clocks. */
struct xw_instant {
    uint64_t real_ns; /* CLOCK_REALTIME */
    uint64_t mono_ns; /* CLOCK_MONOTONIC */
    uint64_t tick;    /* the clock of the wrappers */
};

struct xw_spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size;
    uint32_t table_offset;
    uint32_t table_size;
    uint32_t block_size; /* sizeof(struct xw_thread_block) of the writer */
    uint32_t n_groups;
    uint32_t n_functions;
    uint32_t n_columns;
    uint32_t n_lost;
    uint32_t state; /* enum xw_state */

    uint32_t pid; /* as the process sees itself */
    uint32_t parent_pid;
    uint32_t uid;
    int32_t rank;         /* of MPI_COMM_WORLD or the launcher's variable; -1: none */
    int32_t ranks;        /* size of MPI_COMM_WORLD; 0: not an MPI process (yet) */
    uint32_t tick_source; /* 0 CLOCK_MONOTONIC in ns, 1 invariant cycle counter, 2 timing is off */
    uint64_t tick_hz;     /* ticks per second; improved at every slice; 0: not known yet */
    uint64_t slice_ns;
    uint64_t start_ticks; /* field 22 of /proc/self/stat, in clock ticks after boot; 0: not read */
    struct xw_instant start;
    struct xw_instant end; /* zero until the process ended by itself */
    uint64_t lost[16];     /* enum xw_lost, in the order of the table text */

    char boot_id[40];
    char host[64];
    char exe[64];    /* base name of the executable; never its arguments */
    char job_id[64]; /* of the batch system or of `crosswind run` */
    char step_id[64];
    char mpi[64];       /* what kind of MPI: "openmpi", "mpich", "mpi5"; empty: none */
    char counters[128]; /* what the processor counters gave, in words */

    uint32_t n_chunks; /* release-stored after the entry */
    uint32_t reserved;
    struct xw_chunk chunk[XW_MAX_CHUNKS];

    char omp_num_threads[32]; /* OMP_NUM_THREADS as the process found it, such as "4" or "4,2"; empty: not set */
    uint64_t pid_namespace;   /* inode of /proc/self/ns/pid: where `pid` counts; 0: not known */
};

/* What one wrapper counts into. */
struct xw_quad {
    uint64_t calls;
    uint64_t bytes_out;
    uint64_t bytes_in;
    uint64_t ticks;
};

enum xw_slot_state {
    XW_SLOT_FREE = 0,
    XW_SLOT_USED = 1,
    XW_SLOT_RETIRED = 2, /* its thread has ended; the counts stay, the slot can be taken over by another thread */
    XW_SLOT_SHARED = 3,  /* the overflow block: block 0 of the first THREADS chunk */
    XW_SLOT_TAKEN = 4    /* being taken: the thread has not put its number in yet */
};

/*
 * One thread's counters. Followed in the file by n_groups, then n_functions quads, then plain words:
 *
 *     0            64              64 + 32 n_groups   64 + 32 (n_groups + n_functions)              block_size
 *     +------------+---------------+------------------+----------------------+---------------+
 *     | this head  | groups        | functions        | arrays of words      | padding to 64 |
 *     +------------+---------------+------------------+----------------------+---------------+
 *
 * Group times partition the thread's time (only the outermost wrapped call adds), function times are inclusive.
 */
struct xw_thread_head {
    uint32_t tid;
    uint32_t state;      /* enum xw_slot_state */
    uint64_t call_since; /* tick at which the outermost running call began */
    uint32_t call_group; /* 1 + group of that call; 0: in none. Stored after call_since. */
    uint32_t call_function;
    uint64_t io_seen;      /* not 0: POSIX calls outside MPI since the segment began */
    uint64_t inside_calls; /* POSIX calls inside MPI calls: in their groups, but no I/O of a segment's */
    uint64_t inside_bytes;
    uint64_t site_hash; /* order-free sum over the calls of MPI: which calls, from where */
    uint64_t reserved;
};

/*
 * Payload of a slice record (all varint unless said):
 *     index          slice number: floor(begin / slice_ns), minus that of the previous record in this chunk (first:
 * minus 0) flags          enum xw_slice_flag begin  svarint true begin, CLOCK_REALTIME ns, minus index * slice_ns end
 * svarint true end minus (index + 1) * slice_ns offset svarint adjtimex offset in ns      } the node's clock maxerror
 * adjtimex maximum error, us } cost           ns of CPU that closing the slice took n              number of pairs;
 * then n times: column index minus (previous column index + 1), value Counters are differences over the slice, gauges
 * values at its end; columns that are zero are left out.
 */
enum xw_slice_flag {
    XW_SLICE_FIRST = 1,          /* begins with the process, not at a boundary */
    XW_SLICE_LAST = 2,           /* ends with the process */
    XW_SLICE_UNSYNCHRONISED = 4, /* adjtimex: the node's clock is not synchronised */
    XW_SLICE_GAP = 8             /* the helper slept through at least one boundary; the record spans several slices */
};

/*
 * A row of segments: one, or neighbours merged. Rows lie in the ROWS chunk until their block is in the log, in any
 * order; some are older versions of others, some left over from blocks. Followed by XW_N_SEG_FIELDS values in the order
 * of the table text:
 *
 *     0        8          16       24           32         40                40 + 8 n
 *     +--------+----------+--------+------------+----------+-----------------+
 *     | check  | position | spans  | start_tick | what     | values          |
 *     +--------+----------+--------+------------+----------+-----------------+
 *
 * A row is good if `check` is 1 + the sum over the words behind it, i = 1, 2, ..., of word[i] * XW_ROW_WEIGHT^i modulo
 * 2^64. It is stored last. Of good rows at one position, the one with the largest end counts, if no block reaches
 * beyond its position.
 *
 * Position and end: world << XW_SITE_BITS | site, that is how many world-sized cuts there were before, and how many
 * cuts at recurring call sites since the last of these. A row ends `worlds` world-sized cuts later, and, if that is 0,
 * `sites` cuts at call sites later, else at that number of them.
 */
struct xw_segment_slot_head {
    uint64_t check;
    uint64_t position;
    uint32_t worlds;
    uint32_t sites;
    uint64_t start_tick;
    uint32_t call;      /* whose end closed it: function | place << XW_PLACE_SHIFT */
    uint32_t signature; /* hash of all call sites in it, the sum over merged ones */
};
#define XW_PLACE_SHIFT 16 /* place: number of a record of the SITES log; 0: not known */
#define XW_SITE_BITS 31
#define XW_MAX_WORLD (UINT64_C(1) << 32) /* rows end below it */
#define XW_ROW_WEIGHT 0x9e3779b97f4a7c15u

/*
 * Payload of a record of the SITES log: a place from which a call ended a segment (all varint unless said):
 *     number         of the place, from 1 on
 *     function       number of the function that was called there
 *     offset         the return address as the module's file knows it
 *     module         length, then that many bytes: base name of the executable or library that called
 */

/*
 * Payload of a block of segments, the form of a record of the BLOCKS log:
 *
 *     0          4                        4 + size
 *     +----------+------------------------+--------------------------------+
 *     | size u32 | numbers, all varint    | packed bits, from the lowest   |
 *     +----------+------------------------+--------------------------------+
 *
 * Numbers:
 *     rows             how many rows; each begins at the position where the one before ends
 *     position         of the first
 *     start            tick of its begin
 *     hz               ticks a second by which times in ns were made ticks
 *     n                number of types; then n times: call, signature, worlds, sites
 *     columns, for each segment line of the table text:
 *         shape        width of a packed step in bits | precision << 6 | 1 << 12 if relative
 *         first svarint  number of the first row
 *         n            exceptions; then n times: rows since the one before (+ 1), step
 *     n                corrections; then n times: rows since the one before (+ 1), ticks svarint
 * Packed bits, each part from a whole byte on:
 *     the type of each row, in the bits that n - 1 needs
 *     for each column: a step for each row, unless the width is 0
 *
 * docs/format.md says what the numbers of a column mean and shows an example. Nothing in a block refers to another one.
 */

/*
 * Payload of a record of a short process (all varint unless said):
 *     pid, parent pid, rank + 1 (0: none), state (enum xw_state)
 *     begin          CLOCK_REALTIME ns
 *     duration       ns
 *     exe            length, then that many bytes: base name of the executable
 *     n              number of columns; then n times: column index minus (previous column index + 1), value
 *     n              number of functions; then n times: function index minus (previous + 1), calls, bytes out, bytes
 * in, time in ns
 *     n              number of plain words that are not zero; then n times: their index minus (previous + 1), value
 */

_Static_assert(sizeof(struct xw_quad) == 32, "readers rely on it");
_Static_assert(sizeof(struct xw_thread_head) == 64, "readers rely on it");
_Static_assert(sizeof(struct xw_segment_slot_head) == 40, "readers rely on it");
_Static_assert(sizeof(struct xw_spool_header) <= XW_HEADER_SIZE, "the header is one page");

#endif
