# ruff: noqa: E501 - a table: one row a line
"""Languages, their run times, libcs, allocators, linkers."""

from __future__ import annotations

from support.harm.case import Case

__all__ = ["CASES"]

SLOW = "slow, and its helper is started by age too"
PYTHON_POOL = """
import multiprocessing as m, os
def square(x): return x * x
if __name__ == "__main__":
    for method, size in ("fork", 3), ("spawn", 2), ("forkserver", 2):
        with m.get_context(method).Pool(size) as pool: print(sum(pool.map(square, range(300))))
    with m.Manager() as manager: print(manager.list([1, 2]))
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
PYTHON_DAEMON = """
import os, sys, time
if os.fork(): time.sleep(0.6); print(open("daemon.log").read()); sys.exit(3)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 256); os.chdir("/"); os.umask(0)
time.sleep(0.2)
here = os.environ["HOME"]
log = os.open(here + "/daemon.log", os.O_WRONLY | os.O_CREAT, 0o600)
os.write(log, f"{log} {sorted(os.listdir('/proc/self/fd'))} {os.getppid() != 0}".encode())
"""
PYTHON_SIGNALS = """
import signal, time
got = []
for s in signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGRTMIN, signal.SIGRTMAX:
    signal.signal(s, lambda n, frame: got.append(n)); signal.raise_signal(s)
print(got)
beats = 0
def beat(number, frame):
    global beats
    beats += 1
for timer, s in (signal.ITIMER_REAL, signal.SIGALRM), (signal.ITIMER_VIRTUAL, signal.SIGVTALRM), (signal.ITIMER_PROF, signal.SIGPROF):
    signal.signal(s, beat); signal.setitimer(timer, 0.01, 0.01)
    before = beats
    while beats < before + 10: pass
    signal.setitimer(timer, 0)
    print(signal.getitimer(timer))
begin = time.monotonic(); signal.setitimer(signal.ITIMER_REAL, 0.05); time.sleep(0.3); print(time.monotonic() - begin >= 0.3)
signal.set_wakeup_fd(-1); print(signal.sigtimedwait([signal.SIGUSR2], 0.1))
"""
PYTHON_FAULT = "import faulthandler, ctypes, sys; faulthandler.enable(); faulthandler.dump_traceback_later(0.2); import time; time.sleep(0.4); ctypes.string_at(0)"
PYTHON_SOCKETS = """
import asyncio
async def serve(reader, writer):
    writer.write((await reader.readline()).upper()); await writer.drain(); writer.close()
async def ask(port, i):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"request {i}\\n".encode()); answer = await reader.read(); writer.close()
    return answer
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(sorted(await asyncio.gather(*(ask(port, i) for i in range(100))))[-1])
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await child.communicate(b"through a child")); server.close()
asyncio.run(main())
"""
NUMPY = """
import numpy as np, threading
a = np.arange(250000.0).reshape(500, 500) % 7
print((a @ a).sum(), np.linalg.matrix_rank(a[:50, :50]))
np.save("a.npy", a); print((np.load("a.npy", mmap_mode="r") == a).all())
threads = [threading.Thread(target=lambda: a @ a) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]; print("joined")
"""
NODE = """
const { Worker, isMainThread, parentPort } = require("worker_threads"), fs = require("fs"), child = require("child_process");
if (!isMainThread) { fs.writeFileSync("worker", "x".repeat(1000)); parentPort.postMessage(fs.readFileSync("worker").length); return; }
const worker = new Worker(__filename);
worker.on("message", n => {
  console.log(n, child.spawnSync("sh", ["-c", "cat; exit 4"], { input: "in" }).status);
  fs.promises.writeFile("async", Buffer.alloc(100000)).then(() => fs.promises.stat("async")).then(s => { console.log(s.size); process.exitCode = 6; });
});
"""
R = 'library(parallel); x <- unlist(mclapply(1:4, function(i) { write.csv(data.frame(a = 1:100 * i), paste0("r", i)); sum(read.csv(paste0("r", i))$a) }, mc.cores = 2)); print(x); quit(status = 4)'
JAVA = "java -XX:+UseSerialGC -XX:-UsePerfData -Xmx256m"
ALLOCATOR = "seq 20000 | sort -r --parallel=2 | md5sum; python3 -S -c 'print(len([bytearray(1000) for i in range(10000)]))'; $PROGRAMS/harm_portable io"


def python(program: str) -> str:
    """Script that runs a program from a file: spawned children import it."""
    return f"cat > program.py <<'X'\n{program}\nX\npython3 -S -B program.py"


def with_allocator(soname: str) -> str:
    """Script that preloads one more library behind what is preloaded."""
    return f'export LD_PRELOAD="$LD_PRELOAD {soname}"; {ALLOCATOR}'


CASES = (
    Case("Python pool", python(PYTHON_POOL), shows="8955050\n8955050\n8955050"),
    Case("Python subprocess", python(PYTHON_SUBPROCESS), shows="4 b'in' b'err"),
    Case("Python threads", python(PYTHON_THREADS)),
    Case("Python closes all", python(PYTHON_CLOSES_ALL)),
    Case("Python daemon", python(PYTHON_DAEMON), status=3, shows="^0 "),
    Case("Python signals and timers", python(PYTHON_SIGNALS), shows="True\nNone"),
    Case("Python faulthandler", f"python3 -S -c '{PYTHON_FAULT}'; echo $?", shows="139"),
    Case("Python sockets", python(PYTHON_SOCKETS), shows="REQUEST 99"),
    Case("Python counts its threads", "python3 -S -c 'import os; print(len(os.listdir(\"/proc/self/task\")))'", shows="1", only_default="it counts the threads of the process"),
    Case("Python 3.12 forks", "python3.12 -S -W error -c 'import os, time; time.sleep(0.1); p = os.fork(); p or os._exit(3); print(os.wait()[1])'", probe="python3.12 -c 1", shows="768"),
    Case("NumPy with OpenBLAS", f"export OPENBLAS_NUM_THREADS=4\n$PYTHON -B -c '{NUMPY}'", shows="joined"),
    Case("R", f"Rscript -e '{R}'", ("Rscript",), status=4, shows="5050 10100"),
    Case("Java", f"{JAVA} -cp $BUILT Program", ("java",), builds=("Program.class",), status=6, shows="780000 3000 4"),
    Case("Java checks JNI", f"{JAVA} -Xcheck:jni -cp $BUILT Program", ("java",), builds=("Program.class",), status=6, shows="overflow", only_default=SLOW),
    Case("node", f"cat > program.js <<'X'\n{NODE}\nX\nnode program.js", ("node",), status=6, shows="1000 4\n100000"),
    Case("Go program", "$BUILT/go_program", builds=("go_program",), status=6, shows="exit status 4 user defined"),
    Case("Rust program", "$BUILT/rust_program", builds=("rust_program",), status=6, shows="19000 300 Some\\(4\\) true"),
    Case("Fortran with STOP 3", "$BUILT/fortran", builds=("fortran",), status=3, shows="500500"),
    Case("OpenMP", "OMP_NUM_THREADS=4 $BUILT/openmp; OMP_NUM_THREADS=3 OMP_PROC_BIND=true OMP_WAIT_POLICY=passive $BUILT/openmp", builds=("openmp",), shows="4 threads: .* 50 tasks"),
    Case("C++ exceptions", "$BUILT/exception", builds=("exception",), shows="from C: equal\n500\nno such file"),
    Case("uncaught C++ exception", "$BUILT/exception fatal; echo $?", builds=("exception",), shows="134"),
    Case("plug-in loaded and unloaded", "$BUILT/plugin_host $BUILT/plugin.so", builds=("plugin.so", "plugin_host"), shows="unknown symbol: error"),
    # --- linkers, libcs, allocators ---------------------------------------------------------------------------------
    Case("glibc program", "$PROGRAMS/harm_portable io"),
    Case("static program", "for i in io spawn close_all; do $PROGRAMS/harm_static $i; done"),
    Case("static program at a random address", "$BUILT/static_pie 4", builds=("static_pie",), status=4, shows="4 threads", leaves_nothing="a static program"),
    Case("musl program", "for i in io pthread_exit close_all spawn cancel alternate; do $PROGRAMS/harm_musl $i; echo $?; done", shows="the last thread"),
    Case("bound at start", "export LD_BIND_NOW=1; seq 100 | sort -rn | head -2; $PROGRAMS/harm_portable io"),
    Case("audited linking", "LD_AUDIT=$BUILT/audit.so $PROGRAMS/harm_portable io; echo $?", builds=("audit.so",), shows="\n0$"),
    Case("jemalloc preloaded too", with_allocator("libjemalloc.so.2"), probe="LD_PRELOAD=libjemalloc.so.2 true 2>&1 | grep . && exit 1; true"),
    Case("tcmalloc preloaded too", with_allocator("libtcmalloc_minimal.so.4"), probe="LD_PRELOAD=libtcmalloc_minimal.so.4 true 2>&1 | grep . && exit 1; true"),
)  # fmt: skip
