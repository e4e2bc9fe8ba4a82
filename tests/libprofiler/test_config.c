/* Options from the environment: defaults, precedence of the batch systems' variables, values that are refused. */
#include "unit.h"

#include <string.h>

#include "config.h"
#include "skip.h"

static struct xw_config read_all(const char *const *environment)
{
    struct xw_config config;
    xw_config_read(&config, (char *const *)environment);
    return config;
}
#define READ(...) read_all((const char *const[]){__VA_ARGS__, NULL})

static void test_defaults(void **state)
{
    (void)state;
    struct xw_config config = READ("HOME=/", "PATH=/bin");
    assert_int_equal(config.disable, 0);
    assert_string_equal(config.spool, "/dev/shm/crosswind");
    assert_int_equal(config.slice_ns, 4000000000u);
    assert_int_equal(config.digest, XW_DIGEST_SHORT);
    assert_int_equal(config.timing, 1);
    assert_int_equal(config.helper_after_ms, 2000);
    assert_int_equal(config.rank, -1);
    assert_string_equal(config.job_id, "");
    struct xw_config none;
    xw_config_read(&none, NULL);
    assert_string_equal(none.events, "instructions,flops");
}

static void test_durations(void **state)
{
    (void)state;
    assert_int_equal(READ("CROSSWIND_SLICE=500ms").slice_ns, 500000000u);
    assert_int_equal(READ("CROSSWIND_SLICE=10").slice_ns, 10000000000u);
    assert_int_equal(READ("CROSSWIND_SLICE=1s").slice_ns, 1000000000u);
    const char *bad[] = {"CROSSWIND_SLICE=",   "CROSSWIND_SLICE=0",   "CROSSWIND_SLICE=1ms",
                         "CROSSWIND_SLICE=4x", "CROSSWIND_SLICE=-4s", "CROSSWIND_SLICE=99999999999999999999999s",
                         "CROSSWIND_SLICE=4 s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(READ(bad[i]).slice_ns, 4000000000u);
}

static void test_switches(void **state)
{
    (void)state;
    assert_int_equal(READ("CROSSWIND_DISABLE=1").disable, 1);
    assert_int_equal(READ("CROSSWIND_DISABLE=0").disable, 0);
    assert_int_equal(READ("CROSSWIND_DISABLE=").disable, 0);
    assert_int_equal(READ("CROSSWIND_TIMING=off").timing, 0);
    assert_int_equal(READ("CROSSWIND_DIGEST=full").digest, XW_DIGEST_FULL);
    assert_int_equal(READ("CROSSWIND_DIGEST=nonsense").digest, XW_DIGEST_SHORT);
    assert_int_equal(READ("CROSSWIND_DISABLED=1").disable, 0); /* another variable */
}

static void test_too_long_text_is_refused(void **state)
{
    (void)state;
    char entry[600] = "CROSSWIND_SPOOL=/";
    memset(entry + 17, 'x', 500);
    entry[517] = 0;
    assert_string_equal(READ(entry).spool, "/dev/shm/crosswind");
}

static void test_batch_systems(void **state)
{
    (void)state;
    struct xw_config slurm = READ("SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "SLURM_PROCID=3");
    assert_string_equal(slurm.job_id, "77");
    assert_string_equal(slurm.step_id, "0");
    assert_int_equal(slurm.rank, 3);
    /* mpirun inside a Slurm job: SLURM_PROCID is 0 on every rank */
    assert_int_equal(READ("OMPI_COMM_WORLD_RANK=5", "SLURM_PROCID=0").rank, 5);
    assert_int_equal(READ("SLURM_PROCID=0", "PMI_RANK=2").rank, 2);
    assert_string_equal(READ("CROSSWIND_JOB_ID=mine", "SLURM_JOB_ID=77").job_id, "mine");
    assert_string_equal(READ("PBS_JOBID=12.server").job_id, "12.server");
    assert_int_equal(READ("PMI_RANK=99999999999").rank, -1);
    struct xw_config flux = READ("FLUX_JOB_ID=f2AbC", "FLUX_TASK_RANK=2", "FLUX_JOB_SIZE=8");
    assert_string_equal(flux.job_id, "f2AbC");
    assert_int_equal(flux.rank, 2);
    assert_int_equal(flux.ranks, 8);
    struct xw_config jsrun = READ("LSB_JOBID=77", "LSB_JOBINDEX=0", "JSM_NAMESPACE_RANK=3", "JSM_NAMESPACE_SIZE=6");
    assert_string_equal(jsrun.job_id, "77");
    assert_int_equal(jsrun.rank, 3);
    assert_int_equal(jsrun.ranks, 6);
    assert_string_equal(READ("LSB_JOBID=77", "LSB_JOBINDEX=3").job_id, "77[3]");
    assert_string_equal(READ("LSB_JOBID=77", "LSB_JOBINDEX=3", "CROSSWIND_JOB_ID=a").job_id, "a");
    assert_string_equal(READ("PBS_JOBID=12[4].server", "PBS_ARRAY_INDEX=4").job_id, "12[4].server");
    assert_int_equal(READ("PBS_JOBID=12.server", "PALS_RANKID=7").rank, 7);
}

static void test_steps_of_slurm(void **state)
{
    (void)state;
    assert_string_equal(READ("SLURM_JOB_ID=77").step_id, "");
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_STEP_ID=2").step_id, "2");
    /* srun --mpi=pmix: its own namespace is no other launch */
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_STEP_ID=2", "PMIX_NAMESPACE=slurm.pmix.77.2").step_id, "2");
    /* ranks of one mpirun, on its own node and on another */
    assert_string_equal(READ("SLURM_JOB_ID=77", "PMIX_NAMESPACE=3476160513").step_id, "mpirun-3476160513");
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "PMIX_NAMESPACE=3476160513").step_id,
                        "mpirun-3476160513");
    /* a job that was queued again */
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_RESTART_COUNT=0", "SLURM_STEP_ID=2").step_id, "2");
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_RESTART_COUNT=1", "SLURM_STEP_ID=2").step_id, "2-r1");
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_RESTART_COUNT=12").step_id, "r12");
    /* who names a step or a job names it alone */
    assert_string_equal(READ("SLURM_JOB_ID=77", "SLURM_RESTART_COUNT=1", "CROSSWIND_STEP_ID=x").step_id, "x");
    assert_string_equal(READ("CROSSWIND_JOB_ID=a", "SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "PMIX_NAMESPACE=1").step_id,
                        "0");
    assert_string_equal(READ("PMIX_NAMESPACE=3476160513").step_id, "");
}

static void test_lists_of_executables(void **state)
{
    (void)state;
    static const struct {
        const char *list, *name;
        int listed;
    } cases[] = {
        {"", "lmp", 0},           {"lmp", "lmp", 1},         {"lmp", "lmp2", 0},        {"lmp2", "lmp", 0},
        {"a,lmp,b", "lmp", 1},    {"a, lmp", "lmp", 0},      {",,lmp,", "lmp", 1},      {",", "", 0},
        {"*", "anything", 1},     {"python*", "python3", 1}, {"python?", "python3", 1}, {"python?", "python", 0},
        {"*.exe", "a.exe", 1},    {"*.exe", "exe", 0},       {"a*b*c", "aXbYbZc", 1},   {"a*b*c", "aXbYbZ", 0},
        {"x,*a*,y", "banana", 1}, {"*a,b", "banana", 1},     {"*a,b", "bananb", 0},     {"**", "", 1},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (xw_is_listed(cases[i].list, cases[i].name) != cases[i].listed)
            fail_msg("list '%s', name '%s'", cases[i].list, cases[i].name);
    assert_string_equal(READ("CROSSWIND_SKIP=a,b").skip, "a,b");
    assert_string_equal(READ("CROSSWIND_SKIP_SITE=c").skip_site, "c");
    assert_string_equal(READ("CROSSWIND_SKIP_SITE=c").skip, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_too_long_text_is_refused),
        cmocka_unit_test(test_batch_systems),
        cmocka_unit_test(test_steps_of_slurm),
        cmocka_unit_test(test_lists_of_executables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
