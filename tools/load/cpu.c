/* Processors: arithmetic in registers, which takes a processor and nothing else. */
#include "load.h"

enum { ROUNDS = 1 << 20, OPERATIONS = 4 };

static volatile double sink; /* the compiler has to do the work */

static const char *begin(struct load_run *run)
{
    (void)run;
    return NULL;
}

static uint64_t work(struct load_run *run)
{
    double x = 1.0, y = 1.0;
    (void)run;
    for (int i = 0; i < ROUNDS; i++) {
        x = x * 0.999999 + 1e-6;
        y = y * 1.000001 - 1e-6;
    }
    sink = x + y;
    return (uint64_t)OPERATIONS * ROUNDS;
}

int main(int argc, char **argv)
{
    static const struct load_program program = {
        .name = "load-cpu",
        .stresses = "processors: one for each rank",
        .example = "load-cpu --seconds 60 --active 12 --silent 12",
        .unit = "flops",
        .begin = begin,
        .work = work,
    };
    return load_main(argc, argv, &program);
}
