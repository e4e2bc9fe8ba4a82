"""Each MPI that the load programs were built for."""

import subprocess
from pathlib import Path

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

FULL = """
#include <errno.h>
#include <stdlib.h>
#include <string.h>
int fsync(int fd)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    (void)fd;
    if (!rank || strcmp(rank, "1"))
        return 0;
    errno = ENOSPC;
    return -1;
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
    return _with(SLOW, tmp_path_factory.mktemp("slow"))


@pytest.fixture
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which rank 1 finds its disk full when it flushes."""
    return _with(FULL, tmp_path_factory.mktemp("full"))


def _with(source: str, folder: Path) -> dict[str, str]:
    (folder / "instead.c").write_text(source)
    compiled = folder / "instead.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", compiled, folder / "instead.c"], check=True, timeout=60)
    return {**bare_environment(), "LD_PRELOAD": str(compiled)}
