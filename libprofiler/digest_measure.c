#include "digest.h"

static double group_bytes(const struct xw_totals *totals, unsigned group)
{
    return (double)totals->group[group].bytes_out + (double)totals->group[group].bytes_in;
}

static void measure_classes(double *vector, const struct xw_totals *totals)
{
    static const struct {
        enum xw_digest_layer layer;
        enum xw_op op;
    } ops[] = {
        {XW_DIGEST_POSIX, XW_OP_POSIX_READ},  {XW_DIGEST_POSIX, XW_OP_POSIX_WRITE}, {XW_DIGEST_POSIX, XW_OP_POSIX_SYNC},
        {XW_DIGEST_POSIX, XW_OP_POSIX_META},  {XW_DIGEST_POSIX, XW_OP_POSIX_LOCAL}, {XW_DIGEST_STDIO, XW_OP_STDIO_READ},
        {XW_DIGEST_STDIO, XW_OP_STDIO_WRITE},
    };
    for (unsigned cls = 0; cls < XW_N_CLASSES; cls++) {
        for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
            const struct xw_quad *quad = &totals->group[XW_G_POSIX(cls, ops[i].op)];
            vector[XW_DIGEST_CLASS(cls, ops[i].layer, XW_DIGEST_IO_CALLS)] += (double)quad->calls;
            vector[XW_DIGEST_CLASS(cls, ops[i].layer, XW_DIGEST_IO_BYTES)] +=
                (double)(quad->bytes_in + quad->bytes_out);
            vector[XW_DIGEST_CLASS(cls, ops[i].layer, XW_DIGEST_IO_READ)] += (double)quad->bytes_in;
            vector[XW_DIGEST_CLASS(cls, ops[i].layer, XW_DIGEST_IO_WRITTEN)] += (double)quad->bytes_out;
        }
    }
}

/* What OMP_NUM_THREADS asks for: a number, or one per level of nested regions, "4,2", which multiply. 0: it says
 * nothing that makes sense. */
static double threads_asked_for(const char *list)
{
    double all = 1;
    for (;; list++) {
        uint32_t number = 0;
        const char *digits = list;
        for (; *list >= '0' && *list <= '9' && number < 1000000; list++)
            number = 10 * number + (uint32_t)(*list - '0');
        if (list == digits || !number || (*list && *list != ','))
            return 0;
        all *= number;
        if (!*list)
            return all;
    }
}

void xw_digest_measure(double vector[XW_DIGEST_N], const struct xw_totals *totals, double ns_per_tick,
                       double node_share)
{
    static const unsigned collectives[] = {XW_G_MPI_COLL_ONE_TO_ALL, XW_G_MPI_COLL_ALL_TO_ONE,
                                           XW_G_MPI_COLL_ALL_TO_ALL};
    double wall = (double)totals->wall_ns * 1e-9;
    double per_second = wall > 0 ? 1 / wall : 0;
    double mpi_ticks = 0, io_ticks = (double)totals->group[XW_G_MPI_IO].ticks;
    for (unsigned i = 0; i < XW_DIGEST_N; i++)
        vector[i] = 0;
    for (unsigned group = 0; group < XW_G_POSIX(0, 0); group++)
        mpi_ticks += (double)totals->group[group].ticks;
    for (unsigned group = XW_G_POSIX(0, 0); group < XW_N_GROUPS; group++)
        io_ticks += (double)totals->group[group].ticks;

    vector[XW_DIGEST_WALL] = wall;
    vector[XW_DIGEST_NODE] = node_share;
    vector[XW_DIGEST_THREADS] = (double)totals->cpu_ns * 1e-9 * per_second;
    vector[XW_DIGEST_BUSIEST] = (double)totals->threads_busy_most * 1e-3;
    vector[XW_DIGEST_OMP] = threads_asked_for(totals->omp_num_threads);
    vector[XW_DIGEST_MPI_SHARE] = 100 * mpi_ticks * ns_per_tick * 1e-9 * per_second;
    vector[XW_DIGEST_IO_SHARE] = 100 * io_ticks * ns_per_tick * 1e-9 * per_second;
    for (unsigned i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        vector[XW_DIGEST_COLL_RATE] += (double)totals->group[collectives[i]].calls * per_second;
        vector[XW_DIGEST_COLL_BYTES] += group_bytes(totals, collectives[i]);
    }
    vector[XW_DIGEST_P2P_CALLS] = (double)totals->group[XW_G_MPI_P2P].calls;
    vector[XW_DIGEST_P2P_BYTES] = group_bytes(totals, XW_G_MPI_P2P);
    vector[XW_DIGEST_MPIIO_CALLS] = (double)totals->group[XW_G_MPI_IO].calls;
    vector[XW_DIGEST_MPIIO_BYTES] = group_bytes(totals, XW_G_MPI_IO);
    vector[XW_DIGEST_INSTRUCTIONS] = (double)totals->perf[XW_PERF_HW_INSTRUCTIONS] * per_second;
    vector[XW_DIGEST_FLOPS] = (double)totals->perf[XW_PERF_HW_FLOPS] * per_second;
    measure_classes(vector, totals);

    for (unsigned what = 0; what < XW_N_LOST; what++)
        vector[XW_DIGEST_LOST(what)] = (double)totals->lost[what];
    for (unsigned function = 0; function < XW_N_FUNCTIONS; function++) {
        const struct xw_quad *quad = &totals->function[function];
        vector[XW_DIGEST_FUNCTION(function, 0)] = (double)quad->calls;
        vector[XW_DIGEST_FUNCTION(function, 1)] = (double)quad->bytes_out;
        vector[XW_DIGEST_FUNCTION(function, 2)] = (double)quad->bytes_in;
        vector[XW_DIGEST_FUNCTION(function, 3)] = (double)quad->ticks * ns_per_tick * 1e-9;
    }
}
