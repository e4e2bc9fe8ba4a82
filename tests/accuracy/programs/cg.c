/*
 * A conjugate-gradient mini-app: the Poisson equation on a cube, seven-point stencil, zero at the boundary.
 *
 *     cg N ITERATIONS SOLVES
 *
 * N^3 unknowns, cut into slabs along z, one a rank. It is solved SOLVES times from zero, as a program solves once a
 * time step, with a fixed number of iterations, so that two runs do the same work: 1 MPI_Barrier, and in each solve 1 +
 * 2 * ITERATIONS MPI_Allreduce and ITERATIONS halo exchanges.
 *
 * Rank 0 prints the relative residual of the last solve and the time of all.
 */
#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of a vector that a rank has: planes 1 to nz of n x n values, and a neighbour's plane at either end. */
struct slab {
    int n, nz;
    size_t plane; /* n * n */
    int below, above;
};

static struct slab make_slab(int n)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return (struct slab){
        .n = n,
        .nz = n / ranks + (rank < n % ranks),
        .plane = (size_t)n * (size_t)n,
        .below = rank > 0 ? rank - 1 : MPI_PROC_NULL,
        .above = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL,
    };
}

static size_t slab_size(const struct slab *s) { return ((size_t)s->nz + 2) * s->plane; }

static double *make_vector(const struct slab *s)
{
    double *vector = calloc(slab_size(s), sizeof *vector);
    if (!vector) {
        fprintf(stderr, "cg: no memory for %d planes of %d x %d\n", s->nz, s->n, s->n);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return vector;
}

static void exchange_halo(const struct slab *s, double *x)
{
    const int count = (int)s->plane;
    double *first = x + s->plane, *last = x + (size_t)s->nz * s->plane, *beyond = last + s->plane;
    MPI_Sendrecv(first, count, MPI_DOUBLE, s->below, 0, beyond, count, MPI_DOUBLE, s->above, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, count, MPI_DOUBLE, s->above, 1, x, count, MPI_DOUBLE, s->below, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* y = A x */
static void multiply(const struct slab *s, const double *x, double *y)
{
    const int n = s->n;
    const ptrdiff_t row = n, plane = (ptrdiff_t)s->plane;
    for (int k = 1; k <= s->nz; k++)
        for (int j = 0; j < n; j++) {
            const double *c = x + k * plane + j * row;
            double *out = y + k * plane + j * row;
            for (int i = 0; i < n; i++)
                out[i] = 6 * c[i] - c[i - plane] - c[i + plane] - (j > 0 ? c[i - row] : 0) -
                         (j < n - 1 ? c[i + row] : 0) - (i > 0 ? c[i - 1] : 0) - (i < n - 1 ? c[i + 1] : 0);
        }
}

static double dot(const struct slab *s, const double *x, const double *y)
{
    double sum = 0, total;
    for (size_t i = s->plane; i < slab_size(s) - s->plane; i++)
        sum += x[i] * y[i];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

/* y = a x + b y */
static void combine(const struct slab *s, double a, const double *x, double b, double *y)
{
    for (size_t i = s->plane; i < slab_size(s) - s->plane; i++)
        y[i] = a * x[i] + b * y[i];
}

struct vectors {
    double *x, *r, *p, *ap; /* solution, residual, direction, matrix times direction */
};

/* Solve A x = 1 from x = 0. Returns the norm of the residual relative to that of the right-hand side. */
static double solve(const struct slab *s, const struct vectors *v, int iterations)
{
    memset(v->x, 0, slab_size(s) * sizeof *v->x);
    for (size_t i = s->plane; i < slab_size(s) - s->plane; i++)
        v->r[i] = v->p[i] = 1;
    const double initial = dot(s, v->r, v->r);
    double rr = initial;
    for (int i = 0; i < iterations; i++) {
        exchange_halo(s, v->p);
        multiply(s, v->p, v->ap);
        const double pap = dot(s, v->p, v->ap), alpha = pap > 0 ? rr / pap : 0; /* 0: solved to the last bit */
        combine(s, alpha, v->p, 1, v->x);
        combine(s, -alpha, v->ap, 1, v->r);
        const double next = dot(s, v->r, v->r);
        combine(s, 1, v->r, rr > 0 ? next / rr : 0, v->p);
        rr = next;
    }
    return sqrt(rr / initial);
}

static double solve_often(const struct slab *s, int iterations, int solves)
{
    const struct vectors v = {make_vector(s), make_vector(s), make_vector(s), make_vector(s)};
    double residual = 1;
    for (int i = 0; i < solves; i++)
        residual = solve(s, &v, iterations);
    free(v.x);
    free(v.r);
    free(v.p);
    free(v.ap);
    return residual;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc == 4 ? atoi(argv[1]) : 0, iterations = argc == 4 ? atoi(argv[2]) : 0;
    const int solves = argc == 4 ? atoi(argv[3]) : 0;
    if (n < ranks || n > 2048 || iterations < 1 || solves < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: cg N ITERATIONS SOLVES, N from the number of ranks to 2048\n");
        MPI_Finalize();
        return 2;
    }
    const struct slab slab = make_slab(n);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime(), residual = solve_often(&slab, iterations, solves);
    if (rank == 0)
        printf("residual %.6e after %d iterations, %.6f s\n", residual, iterations, MPI_Wtime() - begin);
    MPI_Finalize();
    return 0;
}
