# ruff: noqa: E501 - a table: one row a line
"""Debuggers, tracers, sanitizers, and programs of many processes: MPI jobs, a database server, a browser."""

from __future__ import annotations

from support.harm.case import Case

__all__ = ["CASES"]

HAS_A_NAME = "as_user id -un"
SLOW = "slow, and its helper is started by age too"
ZYGOTE = "a second thread breaks its first process, as docs/harm.md says"
THREAD_SHOWS = "a debugger lists every thread"
GDB = "gdb -q -nx -batch -ex 'set debuginfod enabled off' -ex 'set print thread-events off'"
GDB_ATTACH = f"""
sleep 20 & sleep 0.3
{GDB} -p $! -ex 'info threads' -ex 'call (int) getppid()' -ex detach > log 2>&1; grep -c Thread log; kill $!; wait $!; echo $?; rm log
"""
POSTGRES = """
data=$SHARED/pg; export PGHOST=$data PGUSER=tester LC_ALL=C; cd $SHARED
as_user mkdir -m 700 $data; as_user initdb -D $data -A trust -U tester --no-sync | grep -c ok
as_user pg_ctl -s -w -D $data -l $data/log -o "-c listen_addresses='' -k $data -c fsync=off" start; echo $?
as_user psql -qtA -d postgres -c 'create table t as select g from generate_series(1, 50000) g' -c 'select count(*), sum(g) from t' -c 'set max_parallel_workers_per_gather = 2' -c 'checkpoint'
as_user psql -qtA -d nosuch 2>&1 | tail -c 30; as_user pg_ctl -s -m fast -D $data stop; echo $?; grep -cE 'FATAL|PANIC|WARNING' $data/log
"""
CHROMIUM = """
mkdir -m 777 $SHARED/c; cd $SHARED/c; echo '<html><body><p id=p></p><script>for (let end = Date.now() + %d; Date.now() < end;); document.getElementById("p").textContent = [1, 2, 3].map(x => x * x) + " " + navigator.onLine</script></body></html>' > page.html
HOME=$SHARED/c as_user chromium --headless %s --disable-gpu --no-first-run --user-data-dir=$SHARED/c/d --dump-dom file://$SHARED/c/page.html 2> /dev/null
"""
VALGRIND = "valgrind -q --leak-check=full --show-leak-kinds=definite,indirect,possible --error-exitcode=9"
OPENMPI = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; mpirun.openmpi --oversubscribe -n 3 $BUILT/mpi_end.openmpi"
MPICH = "mpirun.mpich -n 3 $BUILT/mpi_end.mpich"


def mpi(name: str, mpirun: str, build: str) -> tuple[Case, ...]:
    """The same job under one MPI, ending in three ways.

    What launchers say of MPI_Abort varies: with nothing preloaded, 2 of 25 runs of Open MPI and 5 of MPICH differed.
    """
    command = f"mpirun.{build}"
    return (
        Case(f"{name} job", f"{mpirun} finalize", (command,), (f"mpi_end.{build}",), shows="3 ranks, sum 3"),
        Case(f"{name}: a rank fails", f"{mpirun} fail", (command,), (f"mpi_end.{build}",), status=3, shows="3 ranks", only_default=SLOW),
        Case(f"{name}: MPI_Abort", f"{mpirun} abort 2> /dev/null", (command,), (f"mpi_end.{build}",), status=5, shows="3 ranks"),
    )  # fmt: skip


CASES = (
    Case("strace", "strace -f -o log sh -c 'seq 3 | sort -r; exit 4'", ("strace",), status=4),
    Case("gdb: a breakpoint", f"{GDB} -ex 'break work' -ex 'run > out' -ex bt -ex delete -ex continue $BUILT/memory 2>&1 | grep -vE 'Thread|thread_db|libthread|New|Inferior' | sed -E 's/0x[0-9a-f]+/ADDRESS/g'", ("gdb",), builds=("memory",), shows="#0  work", only_default=THREAD_SHOWS),
    Case("gdb: attached", GDB_ATTACH, ("gdb",), shows="143", only_default=THREAD_SHOWS),
    Case("valgrind", f"{VALGRIND} --errors-for-leak-kinds=definite,indirect,possible $BUILT/memory 5", ("valgrind",), builds=("memory",), status=5, shows="4 threads"),
    Case("gprof", "$BUILT/gprof_program 4; echo $?; gprof -b -p $BUILT/gprof_program gmon.out | grep -c sum_of; rm gmon.out", ("gprof",), builds=("gprof_program",), shows="4\n1"),
    Case("address sanitizer, static", "$BUILT/asan_static 4", builds=("asan_static",), status=4, shows="4 threads"),
    Case("thread sanitizer", "$BUILT/tsan 4", builds=("tsan",), probe="setarch -R $BUILT/tsan", status=4, shows="4 threads"),
    *mpi("Open MPI", OPENMPI, "openmpi"),
    Case("Open MPI: a rank leaves", f"{OPENMPI} leave", ("mpirun.openmpi",), ("mpi_end.openmpi",), status=3, shows="3 ranks", only_default=SLOW),
    *mpi("MPICH", MPICH, "mpich"),
    Case("PostgreSQL", POSTGRES, ("initdb", "pg_ctl", "psql"), probe=HAS_A_NAME, shows="50000\\|1250025000", only_default=SLOW),
    Case("Chromium", CHROMIUM % (0, "--no-sandbox"), ("chromium",), shows="1,4,9", only_default=ZYGOTE),
    Case("Chromium in its sandbox", CHROMIUM % (2500, ""), ("chromium",), probe="as_user unshare -Ur true", shows="1,4,9", only_default=ZYGOTE),
)  # fmt: skip
