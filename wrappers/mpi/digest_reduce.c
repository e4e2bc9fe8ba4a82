#include "digest_reduce.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>

#include "abi.h"
#include "config.h"
#include "digest.h"
#include "text.h"
#include "write_signals.h"

#define STDERR 2
#define TEXT_SIZE 32768u

extern char **environ __attribute__((weak));

/* --- before: what has to be known early --- */

/* The file behind a descriptor, so that we never write into what the program opened in its place. */
struct file {
    uint64_t device, inode;
};

static struct file stderr_file;
static double node_share;

static struct file file_of(int fd)
{
    struct stat status;
    if (xw_failed(xw_syscall(SYS_fstat, fd, &status)))
        return (struct file){0, 0};
    return (struct file){status.st_dev, status.st_ino};
}

static const char *environment(const char *name)
{
    if (!&environ || !environ)
        return NULL;
    for (char **entry = environ; *entry; entry++) {
        size_t i = 0;
        while (name[i] && (*entry)[i] == name[i])
            i++;
        if (!name[i] && (*entry)[i] == '=')
            return *entry + i + 1;
    }
    return NULL;
}

static double environment_number(const char *name)
{
    const char *digits = environment(name);
    uint32_t number = 0;
    for (; digits && *digits >= '0' && *digits <= '9' && number < 100000000; digits++)
        number = 10 * number + (uint32_t)(*digits - '0');
    return number;
}

/*
 * This rank's share of a node: the ranks' shares add up to the number of nodes. Asking MPI would need a blocking
 * collective, but launchers tell: one over the ranks on this node, or the nodes of the whole job over its ranks. 0: not
 * known.
 */
static double read_node_share(void)
{
    static const struct {
        char nodes[24]; /* "": of one node */
        char ranks[32];
    } variables[] = {
        {"", "OMPI_COMM_WORLD_LOCAL_SIZE"}, /* Open MPI */
        {"", "MPI_LOCALNRANKS"},            /* Hydra: MPICH, Intel MPI */
        {"", "MV2_COMM_WORLD_LOCAL_SIZE"},  /* MVAPICH2 */
        {"", "PALS_LOCAL_SIZE"},            /* Cray */
        {"FLUX_JOB_NNODES", "FLUX_JOB_SIZE"},
        {"SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"},
    };
    for (unsigned i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        double ranks = environment_number(variables[i].ranks);
        double nodes = variables[i].nodes[0] ? environment_number(variables[i].nodes) : 1;
        if (nodes > 0 && ranks > 0)
            return nodes / ranks;
    }
    return 0;
}

void xw_digest_prepare(void)
{
    stderr_file = file_of(STDERR);
    node_share = read_node_share();
}

/* --- the reduction --- */

/*
 * The sums go in parts of 2 KiB, below the size from which a message waits for its receiver on any network: where a
 * rank lacks the library nobody will receive, and MPI_Finalize would wait for a large message for ever.
 */
enum { PART = 256, MAX_PARTS = (XW_DIGEST_N + PART - 1) / PART };

/* Static, not on the stack: an operation that was given up may still touch them while MPI_Finalize runs. */
static struct {
    xw_word request[1 + MAX_PARTS];
    unsigned n_requests;
    double mine[XW_DIGEST_N], sum[XW_DIGEST_N];
    double ends[2 * XW_DIGEST_N_SHARED], greatest[2 * XW_DIGEST_N_SHARED]; /* x, then -x: maximum and minimum in one */
} reduction;

static double minimum[XW_DIGEST_N_SHARED];

static void pause_ns(long ns)
{
    struct timespec time = {0, ns};
    xw_syscall(SYS_nanosleep, &time, NULL);
}

/* Test until the request is complete or the deadline is over: at once for a while, then with growing pauses. */
static int completes(xw_word *request, uint64_t deadline_ns)
{
    long pause = 1000;
    for (unsigned tries = 0;; tries++) {
        int32_t done = 0;
        if (xw_mpi.test(request, &done, xw_mpi.status_ignore))
            return 0;
        if (done)
            return 1;
        if (xw_clock_ns(1) >= deadline_ns)
            return 0;
        if (tries < 100)
            continue;
        pause_ns(pause);
        if (pause < 500000)
            pause *= 2;
    }
}

static int start(const double *in, double *out, unsigned n, xw_word op)
{
    xw_word *request = &reduction.request[reduction.n_requests];
    *request = xw_mpi.request_null;
    if (xw_mpi.ireduce(in, out, n, xw_mpi.type_double, op, 0, xw_mpi.world, request))
        return 0;
    reduction.n_requests++;
    return 1;
}

/* The functions are only shown in full. */
static unsigned length_of_sums(void)
{
    return xw_config.digest == XW_DIGEST_FULL ? XW_DIGEST_N : XW_DIGEST_FUNCTION(0, 0);
}

static int reduce_to_rank_0(uint64_t deadline_ns)
{
    const unsigned length = length_of_sums();
    if (!start(reduction.ends, reduction.greatest, 2 * XW_DIGEST_N_SHARED, xw_mpi.op_max))
        return 0;
    for (unsigned at = 0; at < length; at += PART)
        if (!start(reduction.mine + at, reduction.sum + at, length - at < PART ? length - at : PART, xw_mpi.op_sum))
            return 0;
    for (unsigned i = 0; i < reduction.n_requests; i++)
        if (!completes(&reduction.request[i], deadline_ns))
            return 0;
    return 1;
}

static int can_reduce(void)
{
    return xw_mpi.ireduce && xw_mpi.test && xw_mpi.comm_get_errhandler && xw_mpi.comm_set_errhandler &&
           xw_mpi.errhandler_free;
}

/*
 * Whether the numbers of all ranks came together. On MPI_COMM_WORLD itself: nothing of the program can follow on it,
 * and making a duplicate would call the program's attribute functions. An error must not reach the program's handler,
 * which may abort.
 */
static int reduce(void)
{
    uint64_t deadline_ns = xw_clock_ns(1) + xw_config.digest_wait_ms * 1000000u;
    for (unsigned i = 0; i < XW_DIGEST_N_SHARED; i++) {
        reduction.ends[i] = reduction.mine[i];
        reduction.ends[XW_DIGEST_N_SHARED + i] = -reduction.mine[i];
    }
    xw_word handler = 0;
    if (!can_reduce() || xw_mpi.comm_get_errhandler(xw_mpi.world, &handler))
        return 0;
    xw_mpi.comm_set_errhandler(xw_mpi.world, xw_mpi.errors_return);
    int all = reduce_to_rank_0(deadline_ns);
    xw_mpi.comm_set_errhandler(xw_mpi.world, handler);
    xw_mpi.errhandler_free(&handler);
    return all;
}

/* --- the text --- */

static void read_program(char *name, size_t size)
{
    char path[512];
    long n = xw_syscall(SYS_readlink, "/proc/self/exe", path, sizeof path - 1);
    path[xw_failed(n) ? 0 : n] = 0;
    xw_copy(name, size, xw_basename(path));
}

/* Where nobody reads a full pipe, a write would never end: so much fits whenever there is room at all. */
enum { MAX_WRITE = 4096, WRITE_TIMEOUT_MS = 1000 };

static int can_write(int fd)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    return xw_syscall(SYS_poll, &room, 1, WRITE_TIMEOUT_MS) == 1;
}

static void write_stderr(const char *text, size_t size)
{
    struct file now = file_of(STDERR);
    if (!now.inode || now.device != stderr_file.device || now.inode != stderr_file.inode)
        return;
    const struct xw_write_signals signals = xw_write_signals_hold();
    while (size && can_write(STDERR)) {
        long written = xw_syscall(SYS_write, STDERR, text, size < MAX_WRITE ? size : MAX_WRITE);
        if (xw_failed(written) || !written)
            break;
        text += written;
        size -= (size_t)written;
    }
    xw_write_signals_release(&signals);
}

static void print(int alone)
{
    static char text[TEXT_SIZE];
    char program[64];
    read_program(program, sizeof program);
    for (unsigned i = 0; i < XW_DIGEST_N_SHARED; i++)
        minimum[i] = alone ? reduction.mine[i] : -reduction.greatest[XW_DIGEST_N_SHARED + i];
    struct xw_digest_report report = {
        .minimum = minimum,
        .maximum = alone ? reduction.mine : reduction.greatest,
        .sum = alone ? reduction.mine : reduction.sum,
        .ranks = xw_mpi.ranks,
        .alone = alone,
        .full = xw_config.digest == XW_DIGEST_FULL,
        .program = program,
        .job_id = xw_config.job_id,
        .mpi = xw_mpi.name,
        .url = xw_config.url,
    };
    write_stderr(text, xw_digest_format(text, sizeof text, &report));
}

void xw_digest_give(void)
{
    static struct xw_totals totals;
    if (xw_config.digest == XW_DIGEST_OFF)
        return;
    xw_totals_read(&totals);
    double ns_per_tick = (double)xw_ticks_to_ns(UINT64_C(1) << 32) / (double)(UINT64_C(1) << 32);
    xw_digest_measure(reduction.mine, &totals, ns_per_tick, node_share);
    int all = reduce();
    if (!all) {
        xw_count_lost(XW_LOST_DIGEST);
        reduction.mine[XW_DIGEST_LOST(XW_LOST_DIGEST)] += 1;
    }
    if (xw_mpi.rank == 0)
        print(!all);
}
