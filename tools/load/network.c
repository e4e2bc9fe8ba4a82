/*
 * The network between the ranks.
 *
 *   pairs      rank r and its partner half the ranks away exchange messages in both directions
 *   alltoall   all ranks exchange with all
 *   messages   many small messages between the pairs: the rate that a network adapter can take
 */
#include <mpi.h>
#include <stdlib.h>

#include "load.h"

enum kind { PAIRS, ALLTOALL, MESSAGES };
enum { WINDOW = 64, WINDOWS = 4, SMALL = 8 };
enum count { SENDRECV, ALL, ISEND, BYTES_OUT };

static const char *const kind_words[] = {"pairs", "alltoall", "messages", NULL};
static const char *const counts[] = {"MPI_Sendrecv", "MPI_Alltoall", "MPI_Isend", "bytes_out", NULL};
static uint64_t kind = PAIRS, size = 1 << 20;

static const struct load_option options[] = {
    {.name = "kind", .help = "who talks to whom", .kind = LOAD_WORD, .value = &kind, .words = kind_words},
    {.name = "size",
     .help = "bytes of a message to each partner, 1k to 64M (default 1M); those of messages have 8",
     .kind = LOAD_SIZE,
     .value = &size,
     .least = 1024,
     .most = 64 << 20},
    {0},
};

static char *to, *from;
static int partner;

static const char *begin(struct load_run *run)
{
    const size_t blocks = kind == ALLTOALL ? (size_t)run->ranks : 1;
    if (run->ranks < 2)
        return "needs two ranks or more: start it with mpirun -n 2";
    const int half = run->ranks / 2;
    partner = run->rank < half ? run->rank + half : run->rank < 2 * half ? run->rank - half : MPI_PROC_NULL;
    to = load_buffer(run, blocks * size);
    from = load_buffer(run, blocks * size);
    run->options.meet = 1;
    return to && from ? NULL : "not enough memory: choose a smaller --size";
}

static void exchange_small(void)
{
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        MPI_Irecv(from + SMALL * i, SMALL, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(to + SMALL * i, SMALL, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[WINDOW + i]);
    }
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

static uint64_t count(struct load_run *run, enum count which, uint64_t calls, uint64_t bytes)
{
    run->counts[which] += calls;
    run->counts[BYTES_OUT] += bytes;
    return bytes;
}

static uint64_t work(struct load_run *run)
{
    if (kind == ALLTOALL) {
        MPI_Alltoall(to, (int)size, MPI_BYTE, from, (int)size, MPI_BYTE, MPI_COMM_WORLD);
        return count(run, ALL, 1, size * (uint64_t)run->ranks);
    }
    if (partner == MPI_PROC_NULL) /* the last of an odd number of ranks */
        return 0;
    if (kind == PAIRS) {
        MPI_Sendrecv(to, (int)size, MPI_BYTE, partner, 0, from, (int)size, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        return count(run, SENDRECV, 1, size);
    }
    for (int i = 0; i < WINDOWS; i++)
        exchange_small();
    return count(run, ISEND, WINDOWS * WINDOW, WINDOWS * WINDOW * SMALL);
}

static void end(struct load_run *run)
{
    (void)run;
    free(to);
    free(from);
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-network",
        .stresses = "the network between its ranks: bandwidth of pairs or of all to all, rate of small messages",
        .example = "mpirun -n 4 load-network --kind alltoall --active 12 --silent 12",
        .unit = "B",
        .volume = UINT64_C(64) << 30,
        .options = options,
        .counts = counts,
        .begin = begin,
        .work = work,
        .end = end,
    };
    return load_main(argc, argv, &program);
}
