# ruff: noqa: E501 - a table: one row a line
"""Shells, their descriptors and their jobs; resource limits."""

from __future__ import annotations

from support.harm.case import Case

__all__ = ["CASES"]

NO_SPOOL_FILE = "its spool file may not grow"
SLEEP = """
mkfifo never; exec 8<> never; begin=$(date +%s%N); sleep 0.7; read -t 0.3 <&8; status=$?; end=$(date +%s%N)
echo $((end - begin >= 1000000000)) $((end - begin < 3000000000)) $((status > 128))
"""
JOB_CONTROL = r"""
import os, pty, re, select, time
def expect(pattern, text=""):
    while not re.search(pattern, text):
        assert select.select([fd], [], [], 10)[0], text
        text += os.read(fd, 4096).decode()
    print(re.sub(r"\[(\d)\] \d{2,}", r"[\1] PID", text).replace("\r", ""), end="")
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="ready> ", TERM="dumb", HISTFILE="")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"])
expect("ready> $")
for line in ("stty -echo", "sleep 30 &", "jobs", "kill %1; wait", "cat > typed", "again\n\x04", "sleep 30", "\x03", "sleep 30", "\x1a", "bg", "kill -9 %1; wait %1", "echo $?", "tty > /dev/null; echo $?"):
    control = line in "\x03\x1a"
    time.sleep(0.2 * control)
    os.write(fd, line.encode() if control or line.endswith("\x04") else line.encode() + b"\n")
    expect("ready> $") if line not in ("sleep 30", "cat > typed") else None
os.write(fd, b"exit 3\n")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
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

CASES = (
    Case("pipeline", "seq 20000 | sort -rn | head -5 | tee out | wc -c; echo ${PIPESTATUS[@]}"),
    Case("traps", "trap 'echo usr1' USR1; trap 'echo bye' EXIT; kill -USR1 $$; (trap 'echo sub' EXIT; exit 3); echo $?; exit 7", status=7),
    Case("descriptors", "exec 3>out 4<&0 5>&1; echo a >&3; echo b >&5; exec 3>&- 4<&-; cat out; ls /proc/self/fd"),
    Case("here documents", "cat <<< one; cat <<X\ntwo\nX\nread a b <<< '1 2'; echo $b$a; cat <(echo three)"),
    Case("closed standard output", "echo lost >&-; echo $?; cat /etc/hostname >&-; echo $?; seq 3 >&-; echo $?"),
    Case("no standard descriptors", "exec 0<&- 1>&- 2>&-; cat /proc/uptime; seq 10 > made; sort -r made > sorted; ls > list"),
    Case("background and wait", "for i in 3 1 2; do (sleep 0.$i; echo $i; exit $i) & done; wait %1; echo $?; wait; jobs"),
    Case("broken pipe", "yes | head -1000 | md5sum; echo ${PIPESTATUS[@]}; yes | true; echo ${PIPESTATUS[@]}", shows="141 0"),
    Case("empty environment", "env -i /bin/sh -c 'echo hi; env; exit 4'", status=4, leaves_nothing="it sheds the library"),
    Case("environment", "env | grep -vE '^(LD_PRELOAD|CROSSWIND_|HARM=)' | sort; env -u HOME sh -c 'echo ${HOME-none}'", shows="none"),
    Case("a sleep's full length", SLEEP, shows="1 1 1"),
    Case("job control in a pty", f"cat > j.py <<'X'\n{JOB_CONTROL}\nX\npython3 -S -B j.py", shows="Stopped"),
    Case("script", "script -qec 'tty > /dev/null && stty size && seq 3 | sort -r; exit 4' typescript > out; echo $?; grep -c . out; rm typescript", ("script",), shows="^4"),
    Case("tmux", "export TMUX_TMPDIR=$SHARED; tmux -f /dev/null new-session -d -x 80 -y 24 'seq 3 | sort -r > out; tty > /dev/null && echo yes >> out'; for i in $(seq 50); do grep -qs yes out && break; sleep 0.1; done; cat out; tmux kill-server 2> /dev/null; echo done", ("tmux",), shows="yes"),
    Case("screen", "export SCREENDIR=$SHARED/s; mkdir -m 700 $SCREENDIR; screen -c /dev/null -dmS harm sh -c 'seq 3 | sort -r > out; echo yes >> out'; for i in $(seq 50); do grep -qs yes out && break; sleep 0.1; done; cat out", ("screen",), probe="id -un", shows="yes"),
    Case("busybox", "busybox sh -c 'busybox seq 1000 | busybox sort -rn | busybox head -3 | busybox tee out; exit 4'", ("busybox",), status=4, leaves_nothing="a static program"),
    # --- limits -----------------------------------------------------------------------------------------------------
    Case("little address space", "ulimit -v 200000; python3 -S -c 'print(len(bytearray(10**7)))'; perl -e 'print 1'", ("perl",), shows="10000000"),
    Case("too little address space", "ulimit -v 60000; python3 -S -c 'bytearray(10**9)'", status=1),
    Case("four descriptors", "ulimit -n 4; cat < /etc/hostname; sort /etc/hostname /etc/passwd; echo $?; seq 3 | wc -l", status=129),
    Case("no file may grow", "ulimit -f 0; : > out; echo x > out; echo $?; seq 10 | sort -n | tail -1", status=-25, leaves_nothing=NO_SPOOL_FILE),
    Case("files of 1 KiB", "ulimit -f 1; dd if=/dev/zero of=out bs=600 count=3; echo $?; seq 5 | tac", shows="153", leaves_nothing=NO_SPOOL_FILE),
    Case("files of 4 KiB", "ulimit -f 4; seq 5 | tac; cat /etc/hostname; echo ${PIPESTATUS[@]} $?; perl -e 'select undef, undef, undef, 0.05; exit 5'", ("perl",), status=5, leaves_nothing=NO_SPOOL_FILE),
    Case("files shorter than the log", "for i in $(seq 60); do cat /etc/hostname; done; ulimit -f $(($(stat -c %s $CROSSWIND_SPOOL/*.xwl 2> /dev/null || echo 65536) / 1024)); for i in $(seq 20); do cat /etc/hostname; echo $?; done"),
    Case("small stack", "ulimit -s 128; seq 3 | sort -r; echo $?", shows="^3\n2\n1"),
    Case("no core, no locked memory", "ulimit -c 0 -l 0; seq 3 | sort -r"),
    Case("few processes", f"python3 -S -c '{PROCESS_LIMIT}'", root=True, shows="can't start new thread", leaves_nothing="its new user may not write in the spool directory"),
    Case("little CPU time", "ulimit -t 1; python3 -S -c 'while True: pass'; echo $?", shows="137", leaves_nothing="killed young", only_default="slow"),
)  # fmt: skip
