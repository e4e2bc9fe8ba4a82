"""How MPI programs are started on one machine."""

from __future__ import annotations

import shutil

__all__ = ["MPI_ENVIRONMENT", "mpirun"]

MPI_ENVIRONMENT = {
    # root in a container, more ranks than cores, no ptrace permission between ranks: all usual here
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMP_NUM_THREADS": "1",
}
OPTIONS = {"openmpi": ["--oversubscribe", "--bind-to", "none"], "mpich": []}


def mpirun(mpi: str, ranks: int) -> list[str]:
    """The command to put before a program of an MPI (a key of OPTIONS): Debian's name of its launcher, or `mpirun`."""
    name = f"mpirun.{mpi}"
    return [name if shutil.which(name) else "mpirun", *OPTIONS[mpi], "-n", str(ranks)]
