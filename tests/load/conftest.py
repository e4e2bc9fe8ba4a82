"""Each MPI that the load programs were built for."""

import subprocess

import pytest

from support.load_programs import bare_environment, has_launcher, program
from support.mpi_runs import MPIS

SLOW = """
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
static void wait_long(void)
{
    struct timespec left = {2, 0};
    while (nanosleep(&left, &left))
        ;
}
int fsync(int fd) { wait_long(); return (int)syscall(SYS_fsync, fd); }
int unlinkat(int at, const char *name, int flags)
{
    if (*name != '.')
        wait_long();
    return (int)syscall(SYS_unlinkat, at, name, flags);
}
"""


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> str:
    """Its name."""
    program(request.param, "cpu")
    if not has_launcher(request.param):
        pytest.skip(f"{request.param} is not installed: no mpirun.{request.param}")
    return str(request.param)


@pytest.fixture
def slow(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which a flush and the removal of a file take 2 s each."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c"], check=True, timeout=60)
    return {**bare_environment(), "LD_PRELOAD": str(folder / "slow.so")}
