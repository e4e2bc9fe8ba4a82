/*
 * Programs that forbid themselves system calls and die of any that is not on their list.
 *
 *     harm_seccomp strict   read, write, exit and sigreturn only (SECCOMP_MODE_STRICT)
 *     harm_seccomp filter   the same and exit_group, fstat, by a filter that kills the process
 *     harm_seccomp fork     the same and what fork needs; a forked child reads and writes, and may not more either
 *     harm_seccomp raw      the filter, installed by syscall() with CAP_SYS_ADMIN: no function of libc tells of it
 *     harm_seccomp tsc      not a system call but the cycle counter (PR_SET_TSC)
 *
 * All sleep first, so that a helper thread that is started at once exists by then.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int install_filter(int raw)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_fstat),
        ALLOW(SYS_clone),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_wait4),
        ALLOW(SYS_dup),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    if (raw)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int seal(const char *how)
{
    if (strcmp(how, "strict") == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(how, "tsc") == 0)
        return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return install_filter(strcmp(how, "raw") == 0);
}

static int read_in_child(int zero)
{
    char buf[64];
    int status, fresh = dup(1);
    pid_t child = fork();
    if (child == 0)
        _exit(read(zero, buf, sizeof buf) == sizeof buf && write(fresh, "child\n", 6) == 6 ? 7 : 1);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

int main(int argc, char **argv)
{
    char buf[64];
    if (argc != 2)
        return 2;
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, buf, 1) != 1)
        return 1;
    usleep(50000);
    if (seal(argv[1]))
        return 3;
    for (int i = 0; i < 1000; i++)
        if (read(zero, buf, sizeof buf) != sizeof buf)
            return 4;
    if (write(1, "sandboxed\n", 10) != 10)
        return 5;
    if (strcmp(argv[1], "fork") == 0)
        return read_in_child(zero);
    if (strcmp(argv[1], "strict") == 0)
        syscall(SYS_exit, 0); /* exit_group is not on its list */
    _exit(0);
}
