"""The MPIs that the fixed program runs on: where they are, how their programs are built and started."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from support import mpi_runs
from support.preload import BUILD, ROOT

ENVIRONMENTS = ROOT / "build" / "abi"  # tools/setup/mpi_environments.py makes them
PROGRAMS = BUILD / "tests" / "abi"
FORTRAN = {"mpif.h": "FORM_MPIF", "use mpi": "FORM_MPI", "use mpi_f08": "FORM_F08"}  # how fixed.F90 is told
LANGUAGES = ["C", *FORTRAN]
MPI_4 = ("large", "partitioned", "sessions")
AS_ROOT = {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

C_FLAGS = ["-O1", "-w", "-I", str(ROOT / "tests" / "wrappers")]
FORTRAN_FLAGS = ["-O1", "-w", "-fallow-argument-mismatch"]


@dataclass(frozen=True)
class Compiler:
    """Builds programs in a folder of its own: COMMAND FLAGS -o OUTPUT SOURCE LIBRARIES."""

    folder: str
    command: Sequence[str]
    libraries: Sequence[str] = ()

    def build(self, source: Path, flags: Sequence[str]) -> Path:
        """The program of a source, built unless it is there and newer."""
        output = PROGRAMS / self.folder / "".join([source.stem, *flags])
        needs = [source, ROOT / "tests" / "wrappers" / "mpi_expect.h"]
        if not output.exists() or output.stat().st_mtime < max(file.stat().st_mtime for file in needs):
            output.parent.mkdir(parents=True, exist_ok=True)
            command = [*self.command, *flags, "-o", str(output), str(source), *self.libraries]
            done = subprocess.run(command, cwd=output.parent, capture_output=True, text=True)
            assert done.returncode == 0, (command, done.stderr[-2000:])
        return output


@dataclass(frozen=True)
class Mpi:
    """One line of the table: a library, and programs that were built for it or for another of its binary interface."""

    name: str
    kind: str  # as the spool file says it
    place: Path  # exists if it could be had
    launcher: Sequence[str]
    compilers: Mapping[str, Compiler]  # by language
    job: Mapping[str, str] = field(default_factory=dict)  # variables of launcher and ranks
    has: frozenset[str] = frozenset()  # parts of MPI-4, and mpi4py
    flaws: Mapping[str, str] = field(default_factory=dict)  # of the MPI itself: test program, and why it must fail

    def __str__(self) -> str:
        return self.name

    def program(self, source: Path, language: str = "C", flags: Sequence[str] = ()) -> Path:
        """The program of a source in a language. Skips the test where the MPI or its language is missing."""
        self.need()
        if language not in self.compilers:
            pytest.skip(f"{self}: nothing in it for {language}")
        define = [f"-D{FORTRAN[language]}"] if language in FORTRAN else []
        return self.compilers[language].build(source, [*define, *flags])

    def need(self, *parts: str) -> None:
        """Skip the test if this MPI, or a part of it, is not here."""
        if not self.place.exists():
            pytest.skip(f"{self} is not here: no {self.place}")
        for part in parts:
            if part not in self.has:
                pytest.skip(f"{self} has no {part}")

    def run(self, parts: Sequence[mpi_runs.Part], spool: Path, **options: object) -> mpi_runs.Run:
        """Run the parts as one job under this MPI."""
        return mpi_runs.launch(self.launcher, parts, spool, job={**AS_ROOT, **self.job}, **options)


def _debian_12(mpi: str, title: str, has: Sequence[str] = ()) -> Mpi:
    place = Path(f"/usr/bin/mpirun.{mpi}")
    return Mpi(title, mpi, place, _mpirun(place), _wrappers(mpi, title), has=frozenset(has))


def _debian_13(mpi: str, title: str, has: Sequence[str]) -> Mpi:
    """In a file system of its own, in which the project and the temporary files have their usual places."""
    root = ENVIRONMENTS / "debian-13"
    shared = [word for place in (ROOT, BUILD, Path("/tmp")) for word in ("--bind", str(place), str(place))]
    devices = ["--dev-bind", "/dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"]
    inside = ["bwrap", "--bind", str(root), "/", *devices, *shared]
    job = {"OMPI_MCA_btl": "^tcp"} if mpi == "openmpi" else {}  # which complains about a machine without a network
    launcher = [*inside, *_mpirun(Path(f"/usr/bin/mpirun.{mpi}"))]
    return Mpi(title, mpi, root, launcher, _wrappers(mpi, title, inside), job, frozenset(has))


def _mpirun(path: Path) -> list[str]:
    return [str(path), *(["--oversubscribe"] if "openmpi" in str(path) else [])]


def _wrappers(mpi: str, folder: str, inside: Sequence[str] = ()) -> dict[str, Compiler]:
    """The compilers that Debian's MPI brings."""
    fortran = Compiler(folder, [*inside, f"mpif90.{mpi}", *FORTRAN_FLAGS])
    return {"C": Compiler(folder, [*inside, f"mpicc.{mpi}", *C_FLAGS]), **dict.fromkeys(FORTRAN, fortran)}


def _wheel(title: str, environment: str, kind: str, compilers: Mapping[str, Compiler], has: Sequence[str]) -> Mpi:
    """An MPI from PyPI."""
    place = ENVIRONMENTS / environment
    family = environment.partition("-")[0]
    job = {"LD_LIBRARY_PATH": f"{place}/lib:{place}/lib/{family}"}
    if family == "openmpi":
        job["OMPI_MCA_osc"] = "^ucx"  # which complains on stderr
    if family == "intel":
        job |= {"I_MPI_ROOT": str(place), "I_MPI_FABRICS": "shm"}
    launcher = place / "bin" / ("mpiexec.hydra" if family == "intel" else "mpirun")
    return Mpi(title, kind, place, _mpirun(launcher), compilers, job, frozenset(has))


def _c(environment: str, *flags: str, library: str = "mpi") -> dict[str, Compiler]:
    """The C compiler with an environment's own header and library."""
    place = ENVIRONMENTS / environment
    command = ["gcc", *C_FLAGS, *flags, "-I", str(place / "include")]
    return {"C": Compiler("".join([environment, *flags]), command, ["-L", str(place / "lib"), f"-l{library}"])}


def _intel_fortran() -> dict[str, Compiler]:
    """Intel brings modules for gfortran, but no mpi_f08."""
    place = ENVIRONMENTS / "intel"
    modules = ["-I", str(place / "include"), "-I", str(place / "include" / "mpi" / "gfortran" / "12.4.0")]
    compiler = Compiler(
        "intel", ["gfortran", *FORTRAN_FLAGS, *modules], ["-L", str(place / "lib"), "-lmpifort", "-lmpi"]
    )
    return {"mpif.h": compiler, "use mpi": compiler}


def _fortran(compilers: Mapping[str, Compiler]) -> dict[str, Compiler]:
    return {language: compilers[language] for language in FORTRAN}


OPENMPI_4_1 = _debian_12("openmpi", "Open MPI 4.1.4 (Debian 12)")
MPICH_4_0 = _debian_12("mpich", "MPICH 4.0.2 (Debian 12)", MPI_4)
DEBIAN_12 = [OPENMPI_4_1, MPICH_4_0]

# No wheel but Intel's brings a Fortran binding. Debian 12's and the programs built for it run on every library of the
# same binary interface, except Open MPI's of version 4 on version 5.
OF_OPENMPI, OF_MPICH = _fortran(OPENMPI_4_1.compilers), _fortran(MPICH_4_0.compilers)
INTEL_ABI_5_FLAWS = {"mpi_io": "the status of a read at the file pointer says that nothing was read"}
ABI_5 = _c("mpich-5", "-DMPI_ABI", library="mpi_abi")

EVERY_MPI = [
    OPENMPI_4_1,
    _wheel("Open MPI 4.1", "openmpi-4", "openmpi", {**_c("openmpi-4"), **OF_OPENMPI}, ["mpi4py"]),
    _wheel("Open MPI 5.0", "openmpi-5", "openmpi", _c("openmpi-5"), ["partitioned", "sessions", "mpi4py"]),
    _debian_13("openmpi", "Open MPI 5.0 (Debian 13)", ["partitioned", "sessions"]),
    _wheel("MPICH 3.4", "mpich-3", "mpich", {**_c("mpich-3"), **OF_MPICH}, ["mpi4py"]),
    MPICH_4_0,
    _debian_13("mpich", "MPICH 4.2 (Debian 13)", MPI_4),
    _wheel("MPICH 4.3", "mpich-4", "mpich", {**_c("mpich-4"), **OF_MPICH}, [*MPI_4, "mpi4py"]),
    _wheel("MPICH 5.0", "mpich-5", "mpich", {**_c("mpich-5"), **OF_MPICH}, [*MPI_4, "mpi4py"]),
    _wheel("MPICH 5.0, programs of MPICH 4.0", "mpich-5", "mpich", MPICH_4_0.compilers, MPI_4),
    _wheel("MPICH 5.0, MPI-5 ABI", "mpich-5", "mpi5", ABI_5, MPI_4),
    _wheel("Intel MPI", "intel", "mpich", {**_c("intel"), **_intel_fortran()}, [*MPI_4, "mpi4py"]),
    _wheel("Intel MPI, programs of MPICH 4.0", "intel", "mpich", MPICH_4_0.compilers, MPI_4),
    replace(_wheel("Intel MPI, MPI-5 ABI", "intel", "mpi5", ABI_5, MPI_4), flaws=INTEL_ABI_5_FLAWS),
]
