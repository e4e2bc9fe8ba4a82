# ruff: noqa: E501 - a table: one row a line
"""Signals, ends, children, threads, users, name spaces."""

from __future__ import annotations

from support.harm.case import Case

__all__ = ["CASES"]

SHEDS = "it sheds the library"
KILLED = "a process that is killed young leaves none"
UNREACHABLE = "that user cannot reach the spool"
PERL_LOOP = (
    "perl -e '$| = 1; for (1..2000) { my $p = fork; if (!$p) { exit $_ % 7 } waitpid $p, 0; $s += $? >> 8 } print $s'"
)
DD = """
mkfifo hold; dd if=/dev/zero bs=1k count=1000 of=/dev/null 2> first; wc -l < first
(dd bs=1 of=out < hold 2> status; echo $? > code) & exec 9> hold; echo hello >&9; sleep 0.3
kill -USR1 $(pgrep -P $! dd); sleep 0.3; exec 9>&-; wait
grep -c 'records in' status; cat out code; rm first status
"""
CHROOT = """
root=$SHARED/root; mkdir -p $root
for file in /bin/sh /usr/bin/seq /usr/bin/sort $LD_PRELOAD $(ldd /bin/sh /usr/bin/seq /usr/bin/sort | grep -o '/[^ :]*' | grep -v preload | sort -u); do
    mkdir -p $root$(dirname $file); cp -L $file $root$file
done
chroot $root /bin/sh -c '/usr/bin/seq 20 | /usr/bin/sort -r | { read a; echo $a; }; exit 5'
"""
BWRAP = "bwrap --ro-bind / / --tmpfs /run --proc /proc --dev /dev --unshare-all --die-with-parent sh -c 'seq 3 | sort -r; id -u; exit 4'"
SETCAP = """
cp /usr/bin/id $SHARED/id; chmod 755 $SHARED/id; setcap cap_net_raw+ep $SHARED/id
setpriv --reuid=61234 --regid=61234 --clear-groups $SHARED/id -u; $SHARED/id -u
"""

CASES = (
    Case("timeout", "timeout -s KILL 0.3 sleep 5; echo $?; timeout 0.2 cat /dev/zero > /dev/null; echo $?", shows="137\n124"),
    Case("death by signal", "sh -c 'kill -SEGV $$'; echo $?; sh -c 'kill -ABRT $$'; echo $?; kill -TERM $$", status=-15, shows="139\n134", leaves_nothing=KILLED),
    Case("segmentation fault", "$PROGRAMS/harm_portable segv; echo $?", shows="139"),
    Case("handler on its own stack", "$PROGRAMS/harm_portable alternate", shows="hello"),
    Case("own handler of SIGSEGV", "$BUILT/waiting catch", builds=("waiting",), shows="1000 faults, left 50"),
    Case("whole waits", "$BUILT/waiting full", builds=("waiting",), shows="sigtimedwait.*whole"),
    Case("interrupted calls", "$BUILT/waiting eintr", builds=("waiting",), shows="20 interruptions"),
    Case("fork in a handler", "$BUILT/handler_fork", builds=("handler_fork",), shows="0: parent 1, child ended with 7\n1: parent 1, child ended with 7"),
    Case("requests freed when done", "$BUILT/aio_list", builds=("aio_list",), shows="2560 bytes"),
    Case("memory streams under valgrind", "valgrind -q --error-exitcode=9 $BUILT/memory_stream; echo $?", ("valgrind",), builds=("memory_stream",), shows="memstream 1\n1: 12\n0"),
    Case("cancelled thread", "$PROGRAMS/harm_portable cancel", shows="cancelled: 1"),
    Case("main thread ends first", "$PROGRAMS/harm_portable pthread_exit", shows="the last thread"),
    Case("alarm", "perl -e '$SIG{ALRM} = sub { die \"alarm\\n\" }; alarm 1; eval { sleep 5 }; print $@; print 0+$!'", ("perl",), shows="alarm"),
    Case("dd and SIGUSR1", DD, ("pgrep",), shows="2\nhello\n0"),
    Case("seccomp strict", "$PROGRAMS/harm_seccomp strict; echo $?", shows="sandboxed\n0"),
    Case("seccomp filter", "$PROGRAMS/harm_seccomp filter; echo $?", shows="sandboxed\n0"),
    Case("seccomp and fork", "$PROGRAMS/harm_seccomp fork; echo $?", shows="sandboxed\nchild\n7"),
    Case("no cycle counter", "$PROGRAMS/harm_seccomp tsc; echo $?", shows="sandboxed\n0"),
    # --- children and threads ---------------------------------------------------------------------------------------
    Case("vfork and posix_spawn", "$PROGRAMS/harm_portable spawn"),
    Case("perl forks", "perl -e 'for (1..5) { if (!fork) { print \"$_\\n\"; exit $_ } wait; print $? >> 8, \"\\n\" }'", ("perl",), shows="5\n5"),
    Case("2000 forks", PERL_LOOP, ("perl",), shows="6000"),
    Case("xargs -P4", "find /usr/share/perl* /usr/include -type f | sort | head -400 | xargs -P4 -n50 md5sum | sort | md5sum"),
    Case("nohup and setsid", "nohup sh -c 'echo hi' > out; setsid -w sh -c 'echo there; exit 5'; echo $?", shows="5"),
    Case("taskset", "taskset -c 0 sh -c 'nproc; taskset -p $$ | sed s/.*:// ; seq 3 | sort -r'", ("taskset",), shows="^1\n 1"),
    Case("locked memory", "$BUILT/kernel mlockall; ulimit -l 65536; $BUILT/kernel mlockall", builds=("kernel",), root=True, shows="mlockall: 0, threads refused: 0"),
    Case("little locked memory", "ulimit -l 16384; as_user $BUILT/kernel mlockall", builds=("kernel",), shows="mlockall", leaves_nothing=UNREACHABLE),
    Case("io_uring", "$BUILT/kernel io_uring", builds=("kernel",), probe="$BUILT/kernel io_uring", shows="wrote 1500, read 1500"),
    Case("random numbers and clocks", "$BUILT/kernel random", builds=("kernel",), shows="random: 256, clock went back: 0"),
    Case("a process's own things", "umask 027; trap '' USR2; nice -n 3 $BUILT/kernel attributes", builds=("kernel",), shows="umask 27, nice \\d+, 0 blocked, 1 handled"),
    # --- users and name spaces --------------------------------------------------------------------------------------
    Case("other user", "setpriv --reuid=61234 --regid=61234 --clear-groups id", ("setpriv",), root=True, shows="uid=61234", leaves_nothing=UNREACHABLE),
    Case("su", "su nobody -s /bin/sh -c 'id -u; seq 3 | sort -r; exit 4'", ("su",), root=True, status=4),
    Case("runuser", "runuser -u nobody -- sh -c 'id -u; id -G; exit 4'", ("runuser",), root=True, status=4),
    Case("sudo", "sudo -n -u nobody sh -c 'id -u; seq 3 | sort -r; exit 4'", ("sudo",), root=True, status=4),
    Case("setuid program", "as_user su nobody -s /bin/true < /dev/null; echo $?; as_user /usr/bin/passwd -S | cut -d' ' -f1", ("su",), leaves_nothing="a program with more rights than its caller"),
    Case("program with capabilities", SETCAP, ("setcap",), root=True, shows="61234\n0", leaves_nothing="a program with more rights than its caller"),
    Case("no new privileges", "setpriv --no-new-privs --bounding-set=-all sh -c 'grep -c NoNewPrivs:.1 /proc/self/status'", ("setpriv",), root=True, shows="1"),
    Case("user name space", "unshare -Ur sh -c 'id -u; sleep 0.1; unshare -m id -u'", ("unshare",), probe="unshare -Ur true", shows="0\n0"),
    Case("mount and pid name spaces", "unshare -Urmpf --mount-proc sh -c 'mount -t tmpfs t /mnt; echo x > /mnt/a; cat /mnt/a; echo $$; ls /proc | grep -c ^[0-9]'", ("unshare",), probe="unshare -Urmpf --mount-proc true", shows="x\n1"),
    Case("joined name space", "unshare -Ur sleep 3 & sleep 0.3; nsenter -t $! -U --preserve-credentials sh -c 'id -u; exit 4'; echo $?; kill %1; wait", ("nsenter",), probe="unshare -Ur true", shows="0\n4"),
    Case("bwrap", BWRAP, ("bwrap",), probe="bwrap --ro-bind / / --unshare-all true", status=4, shows="3\n2\n1", leaves_nothing="its spool directory is read-only"),
    Case("chroot with the library", CHROOT, root=True, status=5, shows="9", leaves_nothing="its /dev/shm is another"),
)  # fmt: skip
