"""Each MPI that the load programs were built for."""

import pytest

from support.load_programs import has_launcher, program
from support.mpi_runs import MPIS


@pytest.fixture(params=MPIS)
def mpi(request: pytest.FixtureRequest) -> str:
    """Its name."""
    program(request.param, "cpu")
    if not has_launcher(request.param):
        pytest.skip(f"{request.param} is not installed: no mpirun.{request.param}")
    return str(request.param)
