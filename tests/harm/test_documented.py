"""What no preloaded library can do, or ours does not: it shows as docs/harm.md says, and what to do about it helps."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from support.harm import Case
from support.preload import BUILD, ROOT

NOT_FOUND = rb"ERROR: ld.so: object '.*libcrosswind.so' from LD_PRELOAD cannot be preloaded \(cannot open shared .*\n?"
WRONG_CLASS = (
    rb"ERROR: ld.so: object '.*' from LD_PRELOAD cannot be preloaded \(wrong ELF class: ELFCLASS64\): ignored.\n?"
)
ROOT_WITH_TRUE = """
mkdir root
for file in /bin/true $(LD_PRELOAD= ldd /bin/true | grep -o "/[^ ]*"); do
    mkdir -p root$(dirname $file); cp -L $file root$file
done
"""


def test_no_library_in_a_chroot(bench, ready):
    case = ready(Case("chroot", f"{ROOT_WITH_TRUE} chroot root /bin/true; echo $?", root=True))
    bare, profiled = bench.bare(case), bench.profiled(case, {})
    assert re.fullmatch(NOT_FOUND, profiled.stderr)
    assert (bare.stdout, bare.stderr, bare.files) == (profiled.stdout, b"", profiled.files)


BIND = "mkdir -p root$(dirname $LD_PRELOAD); touch root$LD_PRELOAD; mount --bind $LD_PRELOAD root$LD_PRELOAD"


@pytest.mark.parametrize("cure", ["unset LD_PRELOAD", BIND])
def test_library_bound_into_a_chroot_or_variable_cleared(cure, bench, ready):
    script = f"unshare -m bash -s <<'X'\n{ROOT_WITH_TRUE}{cure}; chroot root /bin/true; echo $?\nX\nrm -rf root"
    profiled = bench.profiled(ready(Case("chroot", script, root=True, probe="unshare -m true")), {})
    assert (profiled.stdout, profiled.stderr) == (b"0\n", b"")


def test_a_32_bit_program(bench, ready):
    case = ready(Case("32 bits", "$BUILT/memory_32 4", builds=("memory_32",)))
    bare, profiled = bench.bare(case), bench.profiled(case, {})
    assert re.fullmatch(WRONG_CLASS, profiled.stderr)
    assert (bare.status, bare.stdout, bare.files) == (4, profiled.stdout, profiled.files)


def test_a_32_bit_program_finds_the_stub_under_LIB(bench, ready):
    case = ready(Case("32 bits", "$BUILT/memory_32 4; seq 3 | sort -r; exit 4", builds=("memory_32",)))
    stub = BUILD / "lib32" / "libcrosswind.so"
    assert stub.exists(), f"{stub} is missing: gcc could not make it"
    for library, directory in (bench.library, "lib/x86_64-linux-gnu"), (bench.library, "lib64"), (stub, "lib32"):
        place = bench.base / "prefix" / directory
        place.mkdir(parents=True)
        shutil.copy(library, place)
    for other in "lib/i386-linux-gnu", "lib":
        (bench.base / "prefix" / other).mkdir(parents=True, exist_ok=True)
        shutil.copy(stub, bench.base / "prefix" / other)
    assert bench.profiled(case, {}, preload=bench.base / "prefix" / "$LIB" / "libcrosswind.so") == bench.bare(case)
    assert list(bench.spool.iterdir())


def test_address_sanitizer(bench, ready):
    case = ready(Case("ASan", "$BUILT/asan_dynamic 4", builds=("asan_dynamic",)))
    refused = bench.profiled(case, {})
    assert refused.status == 1
    assert b"ASan runtime does not come first in initial library list" in refused.stderr
    told = bench.profiled(case, {"ASAN_OPTIONS": "verify_asan_link_order=0"})
    assert told == bench.bare(case)
    assert told.status == 4


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
def test_race_detectors(tool, bench, ready):
    script = f"valgrind -q --tool={tool} --error-exitcode=9 %s $BUILT/memory 4"
    ready(Case(tool, "", needs=("valgrind",), builds=("memory",)))
    assert bench.profiled(Case(tool, script % ""), {}).status == 9
    with_file = Case(tool, script % f"--suppressions={ROOT / 'tools' / 'valgrind.supp'}")
    assert bench.profiled(with_file, {}) == bench.bare(with_file)
    assert bench.bare(with_file).status == 4


def test_a_filter_that_nobody_tells_of(bench, ready):
    case = ready(Case("raw seccomp", "$PROGRAMS/harm_seccomp raw; echo $?", root=True))
    assert b"159" in bench.profiled(case, {}).stdout
    for cure in {"CROSSWIND_SKIP": "other,harm_seccomp"}, {"CROSSWIND_DISABLE": "1"}:
        assert bench.profiled(case, cure) == bench.bare(case)
    assert bench.bare(case).stdout == b"sandboxed\n0\n"


def test_skipped_programs_leave_nothing(bench):
    bench.profiled(Case("skipped", "seq 3 | sort"), {"CROSSWIND_SKIP": "sort,seq,bash"})
    assert not list(bench.spool.iterdir())
    bench.profiled(Case("skipped", "seq 3 | sort"), {"CROSSWIND_SKIP": "sort,bash"})
    assert list(bench.spool.iterdir())


def test_musl_does_not_know_LIB(bench, ready):
    """A path with $LIB names no file there: nothing is loaded, and nothing said."""
    case = ready(Case("musl", "LD_PRELOAD='/nowhere/$LIB/libcrosswind.so' $PROGRAMS/harm_musl io"))
    profiled = bench.profiled(case, {}, preload=Path("/dev/null"))
    assert b"renamed: 0" in profiled.stdout
