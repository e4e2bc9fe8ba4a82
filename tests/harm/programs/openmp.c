/* Parallel regions, tasks and nested teams, each thread writing a file of its own. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    long sum = 0, tasks = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100)
    for (int i = 0; i < 100000; i++)
        sum += i % 7;
#pragma omp parallel
    {
        char path[32];
        snprintf(path, sizeof path, "team-%d", omp_get_thread_num());
        FILE *file = fopen(path, "w");
        for (int i = 0; i < 1000; i++)
            fprintf(file, "%d\n", i);
        fclose(file);
#pragma omp single
        for (int i = 0; i < 50; i++)
#pragma omp task
#pragma omp atomic
            tasks++;
    }
    printf("%d threads: %ld, %ld tasks\n", omp_get_max_threads(), sum, tasks);
    return 0;
}
