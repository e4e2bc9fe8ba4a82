/*
 * The SPANK plugin: srun, sbatch and salloc learn --crosswind=on|off|slice=4s,digest=full, and every task of a job, the
 * batch script too, starts with libcrosswind.so preloaded, whatever --export says.
 *
 *   srun, sbatch, salloc        slurmstepd on the node
 *   init: the option            init: the option
 *   init_post_opt: variables    init_post_opt (root): makes the spool directory
 *     for later steps           task_init (the user, before exec): LD_PRELOAD and variables of the task
 *
 * First law: no job fails, waits or looks different because of us. So every hook returns ESPANK_SUCCESS, and where a
 * library or a directory is missing nothing is preloaded. docs/operations.md says how to install it.
 */
#include <errno.h>
#include <fcntl.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload_list.h"
#include "settings.h"

SPANK_PLUGIN(crosswind, 1)

enum { LIST_SIZE = 65536 };

static struct cw_settings site, user;

/* --- what was said --------------------------------------------------------------------------------------- */

static int option_given(int number, const char *words, int remote)
{
    char bad[64];
    (void)number;
    if (words && cw_settings_take_list(&user, words, bad, sizeof bad) && !remote)
        slurm_spank_log("crosswind: --crosswind=%s is not understood and ignored: use on, off, slice=4s, "
                        "digest=off|short|full or timing=on|off, separated by commas",
                        bad);
    return 0;
}

static struct spank_option option = {
    .name = "crosswind",
    .arginfo = "on|off|slice=4s,...",
    .usage = "profile the job: on, off, or slice=4s, digest=off|short|full, timing=on|off separated by commas",
    .has_arg = 1,
    .val = 0,
    .cb = option_given,
};

/* What is wrong with plugstack.conf goes to the log of the node; users are told only if they ask (-v). */
static void read_site(int n, char **words)
{
    void (*say)(const char *, ...) = spank_context() == S_CTX_REMOTE ? slurm_info : slurm_verbose;
    for (int i = 0; i < n; i++)
        if (!cw_settings_take(&site, words[i], CW_SITE))
            say("crosswind: '%s' in plugstack.conf is not understood and ignored", words[i]);
}

int slurm_spank_init(spank_t spank, int n, char **words)
{
    spank_context_t context = spank_context();
    if (context != S_CTX_ALLOCATOR && context != S_CTX_LOCAL && context != S_CTX_REMOTE)
        return ESPANK_SUCCESS;
    read_site(n, words);
    spank_option_register(spank, &option);
    return ESPANK_SUCCESS;
}

/* --- in srun, sbatch and salloc ---------------------------------------------------------------------------- */

/* What the option of a job says holds for its later steps, too: they find it in their environment. */
static void tell_later_steps(void)
{
    if (user.on != CW_NOT_SAID)
        setenv("CROSSWIND_DISABLE", user.on == CW_OFF ? "1" : "0", 1);
    for (int i = 0; i < cw_n_words; i++)
        if (user.values[i][0])
            setenv(cw_words[i].variable, user.values[i], 1);
}

/* --- in slurmstepd ---------------------------------------------------------------------------------------- */

/*
 * The spool directory, root's own, open to all and sticky, as the library wants it. One that is there is not changed:
 * the library refuses what another user could have planted.
 */
static void make_spool_directory(const char *path)
{
    struct stat status;
    if (!*path)
        return;
    if (!mkdir(path, 0700)) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fchmod(fd, 01777))
            slurm_info("crosswind: cannot open %s to all users: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
    } else if (errno != EEXIST) {
        slurm_info("crosswind: cannot make the spool directory %s: %s", path, strerror(errno));
    } else if (lstat(path, &status) || !S_ISDIR(status.st_mode) || status.st_uid != 0) {
        slurm_info("crosswind: the spool directory %s is not root's: remove it, nothing is profiled there", path);
    }
}

int slurm_spank_init_post_opt(spank_t spank, int n, char **words)
{
    (void)spank, (void)n, (void)words;
    if (spank_context() != S_CTX_REMOTE)
        tell_later_steps();
    else if (user.on != CW_OFF)
        make_spool_directory(cw_settings_value(&site, "spool"));
    return ESPANK_SUCCESS;
}

/* The variable's value in the task's environment; "" when it is not there or too long. */
static const char *task_variable(spank_t spank, const char *name, char *value, int size)
{
    if (spank_getenv(spank, name, value, size) != ESPANK_SUCCESS)
        value[0] = 0;
    return value;
}

/*
 * The option of the batch job holds where that of the step says nothing. With --export=NONE slurmstepd does not hand it
 * to the plugin; what srun reads it from is in the environment all the same.
 */
static void take_option_of_the_batch_job(spank_t spank)
{
    static const char *const names[] = {"SLURM_SPANK__SLURM_SPANK_OPTION_crosswind_crosswind",
                                        "_SLURM_SPANK_OPTION_crosswind_crosswind"};
    struct cw_settings of_job = {0};
    char words[CW_VALUE_SIZE], bad[8];
    for (size_t i = 0; i < sizeof names / sizeof *names && of_job.on == CW_NOT_SAID; i++)
        cw_settings_take_list(&of_job, task_variable(spank, names[i], words, sizeof words), bad, sizeof bad);
    cw_settings_fill(&user, &of_job);
}

static void preload(spank_t spank, enum cw_switch decided)
{
    static char old[LIST_SIZE], new[LIST_SIZE];
    const char *library = cw_settings_value(&site, "lib");
    spank_err_t found = spank_getenv(spank, "LD_PRELOAD", old, sizeof old);
    if (found == ESPANK_ENV_NOEXIST)
        old[0] = 0;
    else if (found != ESPANK_SUCCESS)
        return;
    int fits = decided == CW_ON ? cw_preload_add(new, sizeof new, old, library)
                                : cw_preload_remove(new, sizeof new, old, library);
    if (!fits || !strcmp(old, new))
        return;
    if (*new)
        spank_setenv(spank, "LD_PRELOAD", new, 1);
    else
        spank_unsetenv(spank, "LD_PRELOAD");
}

static void set_variables(spank_t spank)
{
    if (user.on != CW_NOT_SAID)
        spank_setenv(spank, "CROSSWIND_DISABLE", user.on == CW_OFF ? "1" : "0", 1);
    for (int i = 0; i < cw_n_words; i++) {
        const struct cw_word *word = &cw_words[i];
        if (user.values[i][0])
            spank_setenv(spank, word->variable, user.values[i], 1);
        else if (site.values[i][0] && *word->variable)
            spank_setenv(spank, word->variable, site.values[i], word->sites_wins);
    }
}

/* Whether the task runs in a container of --container, in which the site has not put the library. */
static int is_elsewhere(spank_t spank)
{
    char container[8];
    return site.containers != CW_ON &&
           spank_getenv(spank, "SLURM_CONTAINER", container, sizeof container) != ESPANK_ENV_NOEXIST;
}

int slurm_spank_task_init(spank_t spank, int n, char **words)
{
    char disable[16];
    (void)n, (void)words;
    const char *library = cw_settings_value(&site, "lib");
    take_option_of_the_batch_job(spank);
    enum cw_switch decided =
        cw_settings_decide(&site, &user, task_variable(spank, "CROSSWIND_DISABLE", disable, sizeof disable));
    if (!*library || is_elsewhere(spank))
        return ESPANK_SUCCESS;
    if (decided == CW_OFF) {
        set_variables(spank);
        preload(spank, CW_OFF);
    } else if (decided == CW_ON && cw_preload_is_there(library)) {
        set_variables(spank);
        preload(spank, CW_ON);
    }
    return ESPANK_SUCCESS;
}
