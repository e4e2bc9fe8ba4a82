# ruff: noqa: E501 - a table: one row a line
"""The programs that must not notice Crosswind.

Each case is a shell script that runs in an empty directory. Exit status, standard output, standard error and the files
that it leaves must be the same with and without the library; a case that is not the same twice without it says so.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """One program.

    name: for the report; script: for bash; needs: commands that must exist; root: needs root. status_only: why
    nothing but the exit status can be compared. leaves_nothing: why Crosswind may leave no trace of it. helper_shows: why
    a helper that is started at once (by default it starts after two seconds) is visible by nature.
    """

    name: str
    script: str
    needs: tuple[str, ...] = ()
    root: bool = False
    status_only: str = ""
    leaves_nothing: str = ""
    helper_shows: str = ""


PYTHON_POOL = """
import multiprocessing as m, os
def square(x): return x * x
if __name__ == "__main__":
    with m.get_context("fork").Pool(3) as pool: print(sum(pool.map(square, range(1000))))
    with m.get_context("spawn").Pool(2) as pool: print(sum(pool.map(square, range(100))))
"""
PYTHON_SUBPROCESS = """
import subprocess, sys
for i in range(5):
    p = subprocess.run(["sh", "-c", f"cat; echo err >&2; exit {i}"], input=b"in", capture_output=True, close_fds=i % 2 == 0)
    print(p.returncode, p.stdout, p.stderr)
print(subprocess.Popen(["sleep", "0.2"]).poll())
"""
PYTHON_THREADS = """
import threading, os, tempfile
total = []
def work(n):
    with tempfile.TemporaryFile() as f:
        for i in range(200): f.write(b"x" * n)
        f.seek(0); total.append(len(f.read()))
threads = [threading.Thread(target=work, args=(n,)) for n in range(50)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(total), threading.active_count())
"""
PYTHON_CLOSES_ALL = """
import os, time
os.closerange(3, 5000)
print(os.open("/dev/null", os.O_RDONLY), os.dup(1), os.pipe())
time.sleep(0.2)
print(sorted(os.listdir("/proc/self/fd")))
"""
PROCESS_LIMIT = """
import os, resource, threading, time
os.setgroups([]); os.setresgid(61234, 61234, 61234); os.setresuid(61234, 61234, 61234)
time.sleep(0.1)
resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
threads = []
try:
    for i in range(5):
        t = threading.Thread(target=time.sleep, args=(0.3,)); t.start(); threads.append(t)
except RuntimeError as error:
    print(len(threads), error)
try:
    os.fork()
except BlockingIOError as error:
    print(error)
"""
C_HELLO = "printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}\\n' > hello.c"
GIT = """
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD GIT_CONFIG_NOSYSTEM=1
git init -q -b main repo && cd repo && git config user.name x && git config user.email x@example.org
for i in $(seq 30); do seq $i 400 > file$i; done; git add . && git commit -q -m one
for i in $(seq 10); do echo more >> file$i; done; git commit -q -a -m two
git rev-parse HEAD HEAD^{tree}; git gc -q; git fsck --no-progress; git log --oneline | cat; git diff HEAD~ --stat
rm -rf .git/logs .git/objects/info/commit-graph* .git/index
"""
MAKEFILE = (
    "printf 'all: $(patsubst %%,f%%,1 2 3 4 5 6 7 8)\\nf%%:\\n\\t@sleep 0.05; seq $* 1000 | sort -r > $@\\n' > Makefile"
)

CASES = (
    # --- the shell --------------------------------------------------------------------------------------------------
    Case("pipeline", "seq 20000 | sort -rn | head -5 | tee out | wc -c; echo ${PIPESTATUS[@]}"),
    Case("traps", "trap 'echo usr1' USR1; trap 'echo bye' EXIT; kill -USR1 $$; (trap 'echo sub' EXIT; exit 3); echo $?; exit 7"),
    Case("descriptors", "exec 3>out 4<&0 5>&1; echo a >&3; echo b >&5; exec 3>&- 4<&-; cat out; ls /proc/self/fd"),
    Case("here documents", "cat <<< one; cat <<X\ntwo\nX\nread a b <<< '1 2'; echo $b$a; cat <(echo three)"),
    Case("closed standard output", "echo lost >&-; echo $?; cat /etc/hostname >&-; echo $?; seq 3 >&-; echo $?"),
    Case("no standard descriptors", "exec 0<&- 1>&- 2>&-; cat /proc/uptime; seq 10 > made; sort -r made > sorted; ls > list"),
    Case("background and wait", "for i in 3 1 2; do (sleep 0.$i; echo $i; exit $i) & done; wait %1; echo $?; wait; jobs"),
    Case("broken pipe", "yes | head -1000 | md5sum; echo ${PIPESTATUS[@]}; yes | true; echo ${PIPESTATUS[@]}"),
    Case("empty environment", "env -i /bin/sh -c 'echo hi; env; exit 4'", leaves_nothing="it sheds the library"),
    # --- limits -----------------------------------------------------------------------------------------------------
    Case("little address space", "ulimit -v 200000; python3 -S -c 'print(len(bytearray(10**7)))'; perl -e 'print 1'", ("perl",)),
    Case("too little address space", "ulimit -v 60000; python3 -S -c 'bytearray(10**9)'"),
    Case("four descriptors", "ulimit -n 4; cat < /etc/hostname; sort /etc/hostname /etc/passwd; echo $?; seq 3 | wc -l"),
    Case("no file may grow", "ulimit -f 0; : > out; echo x > out; echo $?; seq 10 | sort -n | tail -1", leaves_nothing="its spool file may not grow"),
    Case("files of 1 KiB", "ulimit -f 1; dd if=/dev/zero of=out bs=600 count=3; echo $?; seq 5 | tac", leaves_nothing="its spool file may not grow"),
    Case("files of 4 KiB", "ulimit -f 4; seq 5 | tac; cat /etc/hostname; echo ${PIPESTATUS[@]} $?; perl -e 'select undef, undef, undef, 0.05; exit 5'", ("perl",), leaves_nothing="its spool file may not grow"),
    Case("files shorter than the log", "for i in $(seq 60); do cat /etc/hostname; done; ulimit -f $(($(stat -c %s $CROSSWIND_SPOOL/*.xwl 2> /dev/null || echo 65536) / 1024)); for i in $(seq 20); do cat /etc/hostname; echo $?; done"),
    Case("small stack", "ulimit -s 128; seq 3 | sort -r; echo $?"),
    Case("no core, no locked memory", "ulimit -c 0 -l 0; seq 3 | sort -r"),
    Case("few processes", f"python3 -S -c '{PROCESS_LIMIT}'", root=True, leaves_nothing="its new user may not write in the spool directory"),
    # --- signals and ends -------------------------------------------------------------------------------------------
    Case("timeout", "timeout -s KILL 0.3 sleep 5; echo $?; timeout 0.2 cat /dev/zero > /dev/null; echo $?"),
    Case("death by signal", "sh -c 'kill -SEGV $$'; echo $?; sh -c 'kill -ABRT $$'; echo $?; kill -TERM $$", leaves_nothing="a process that is killed young leaves none"),
    Case("segmentation fault", "$PROGRAMS/harm_portable segv; echo $?"),
    Case("handler on its own stack", "$PROGRAMS/harm_portable alternate"),
    Case("cancelled thread", "$PROGRAMS/harm_portable cancel"),
    Case("main thread ends first", "$PROGRAMS/harm_portable pthread_exit"),
    Case("alarm", "perl -e '$SIG{ALRM} = sub { die \"alarm\\n\" }; alarm 1; eval { sleep 5 }; print $@; print 0+$!'", ("perl",)),
    Case("seccomp strict", "$PROGRAMS/harm_seccomp strict; echo $?"),
    Case("seccomp filter", "$PROGRAMS/harm_seccomp filter; echo $?"),
    Case("no cycle counter", "$PROGRAMS/harm_seccomp tsc; echo $?"),
    # --- processes --------------------------------------------------------------------------------------------------
    Case("vfork and posix_spawn", "$PROGRAMS/harm_portable spawn"),
    Case("perl forks", "perl -e 'for (1..5) { if (!fork) { print \"$_\\n\"; exit $_ } wait; print $? >> 8, \"\\n\" }'", ("perl",)),
    Case("xargs -P4", "find /usr/share/perl* /usr/include -type f | sort | head -400 | xargs -P4 -n50 md5sum | sort | md5sum"),
    Case("make -j4", f"{MAKEFILE}; make -j4; echo $?; touch f3; make -j4; md5sum f*", ("make",)),
    Case("nohup and setsid", "nohup sh -c 'echo hi' > out; setsid -w sh -c 'echo there; exit 5'; echo $?"),
    Case("other user", "setpriv --reuid=61234 --regid=61234 --clear-groups id", ("setpriv",), root=True, leaves_nothing="that user cannot reach the spool"),
    Case("no new privileges", "setpriv --no-new-privs --bounding-set=-all sh -c 'grep -c NoNewPrivs:.1 /proc/self/status'", ("setpriv",), root=True),
    Case("user name space", "unshare -Ur sh -c 'id -u; sleep 0.1; unshare -m id -u'", ("unshare",)),
    Case("traced", "strace -f -o log sh -c 'seq 3 | sort -r'", ("strace",), status_only="its log has process ids"),
    # --- files ------------------------------------------------------------------------------------------------------
    Case("close everything", "$PROGRAMS/harm_portable close_all"),
    Case("tar to tar", "cp -r /usr/include/asm-generic a; tar cf - a | (mkdir b; tar xf - -C b); diff -r a b/a; echo $?; rm -r a b"),
    Case("gzip to cmp", "seq 100000 > a; gzip -k a; gzip -dc a.gz | cmp - a; echo $?; rm a.gz"),
    Case("parallel sort", "seq 200000 | shuf --random-source=/bin/sh | sort -n --parallel=4 -S 1M | md5sum"),
    Case("git", GIT, ("git",)),
    Case("compiler", f"{C_HELLO}; gcc -O2 -c hello.c -o hello.o; md5sum hello.o; gcc hello.o -o hello; ./hello; md5sum hello", ("gcc",)),
    # --- languages and libcs ----------------------------------------------------------------------------------------
    Case("Python pool", f"cat > pool.py <<'X'\n{PYTHON_POOL}\nX\npython3 -B pool.py"),
    Case("Python subprocess", f"cat > s.py <<'X'\n{PYTHON_SUBPROCESS}\nX\npython3 -S -B s.py"),
    Case("Python threads", f"cat > t.py <<'X'\n{PYTHON_THREADS}\nX\npython3 -S -B t.py"),
    Case("Python closes all", f"cat > c.py <<'X'\n{PYTHON_CLOSES_ALL}\nX\npython3 -S -B c.py"),
    Case("Python counts its threads", "python3 -S -c 'import os; print(len(os.listdir(\"/proc/self/task\")))'", helper_shows="it counts the threads of the process"),
    Case("Python 3.12 forks", "python3.12 -S -W error -c 'import os, time; time.sleep(0.1); p = os.fork(); p or os._exit(3); print(os.wait()[1])'", ("python3.12",)),
    Case("glibc program", "$PROGRAMS/harm_portable io"),
    Case("static program", "for i in io spawn close_all; do $PROGRAMS/harm_static $i; done"),
    Case("musl program", "for i in io pthread_exit close_all spawn cancel alternate; do $PROGRAMS/harm_musl $i; echo $?; done"),
)  # fmt: skip
