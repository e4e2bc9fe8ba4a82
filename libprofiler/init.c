/*
 * Start and end of the library in a process. Read main events from here:
 *
 *     begin()              constructor: options, counters, MPI if it is loaded already
 *     xw_process_set_up()  process.c; also from the first wrapped call, in a forked child or before the constructor
 *     xw_process_publish() process.c; a spool file, when MPI starts or the helper does
 *     xw_mpi_started()     MPI_Init: heartbeat at once, segments
 *     xw_helper_due()      counters.c; in other processes the heartbeat starts once they live for two seconds
 *     xw_mpi_ending()      MPI_Finalize: the last segment
 *     xw_process_ends()    destructor, _exit, quick_exit: the last slice and the mark of a clean end, or the record of
 *                          a short process
 */
#include "init.h"

#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "heartbeat.h"
#include "mpi/attach.h"
#include "papi.h"
#include "posix/stream.h"
#include "process.h"
#include "segment.h"
#include "short.h"
#include "skip.h"
#include "text.h"

#define NEXT_OBJECT ((void *)-1L) /* RTLD_NEXT */

extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern char **environ __attribute__((weak));

void *xw_next(const char *name) { return dlsym ? dlsym(NEXT_OBJECT, name) : NULL; }

/* --- start --- */

static int is_skipped(const struct xw_config *config)
{
    char exe[512];
    if (!*config->skip && !*config->skip_site)
        return 0;
    long n = xw_syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
    exe[xw_failed(n) ? 0 : n] = 0;
    const char *name = xw_basename(exe);
    return xw_is_listed(config->skip, name) || xw_is_listed(config->skip_site, name);
}

/* Whether a second thread would be in the way from the start: a filter on system calls, or other rights than the
 * user's. */
static int helper_is_unwanted(void)
{
    return xw_syscall(SYS_prctl, PR_GET_SECCOMP) != SECCOMP_MODE_DISABLED ||
           xw_syscall(SYS_getuid) != xw_syscall(SYS_geteuid) || xw_syscall(SYS_getgid) != xw_syscall(SYS_getegid);
}

static void read_options(char **environment)
{
    xw_config_read(&xw_config, environment);
    if (is_skipped(&xw_config))
        xw_config.disable = 1;
    xw_config.skip = xw_config.skip_site = ""; /* the program may change its environment */
    if (xw_config.disable)
        __atomic_store_n(&xw_sealed, 1, __ATOMIC_SEQ_CST);
    else
        xw_config.no_helper = helper_is_unwanted();
}

/* Options can't be read before libc has an environment; until then nothing is set up (xw_process_set_up asks here). */
int xw_options_ready(void)
{
    static uint32_t state; /* 0: not read, 1: being read, 2: read */
    uint32_t seen = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (seen == 2)
        return 1;
    char **environment = &environ ? environ : NULL;
    if (!environment || __atomic_exchange_n(&state, 1, __ATOMIC_ACQ_REL))
        return 0;
    if (gnu_get_libc_version) /* glibc keeps a pointer to the thread's control block in its third word */
        xw_tls_self_offset = 16;
    read_options(environment);
    __atomic_store_n(&state, 2, __ATOMIC_RELEASE);
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    if (!xw_options_ready() || xw_config.disable)
        return;
    xw_process_set_up();
    xw_mpi_attach();
}

/* --- MPI --- */

void xw_mpi_started(const char *kind, int rank, int ranks)
{
    if (!xw_process_is_mine())
        return;
    xw_process_publish(xw_process);
    struct xw_spool_header *header = xw_process->spool.header;
    xw_copy(header->mpi, sizeof header->mpi, kind);
    header->rank = rank;
    header->ranks = ranks;
    xw_process_calibrate(xw_process);
    xw_process_make_segment_room(xw_process); /* the helper sees to it from then on */
    xw_heartbeat_start();
    xw_thread_block_slow(); /* its new block, in the file: segments compare readings of one block */
    xw_papi_stop();         /* of the thread that opened a session before, perhaps another one */
    xw_segment_start();
}

void xw_mpi_ending(unsigned function)
{
    xw_segment_finish(function);
    if (!xw_is_sealed())
        xw_papi_stop();
}

/* --- end --- */

void xw_process_ends(enum xw_state state)
{
    if (!xw_process_is_mine() || __atomic_exchange_n(&xw_process->ended, 1, __ATOMIC_ACQ_REL))
        return;
    struct xw_process *process = xw_process;
    struct xw_instant now;
    xw_heartbeat_finish();
    xw_process_calibrate(process);
    xw_process_instant(process, &now);
    if (!xw_spool_is_published(&process->spool)) {
        xw_short_append(process, state, &now);
        return;
    }
    if (!process->helper.alive) /* with the helper gone its work is ours */
        xw_process_close_slice(process, XW_SLICE_LAST, 0);
    process->spool.header->end = now;
    __atomic_store_n(&process->spool.header->state, state, __ATOMIC_RELEASE);
}

__attribute__((destructor)) static void end(void)
{
    xw_stdout_ends();
    xw_process_ends(XW_STATE_CLEAN);
}
