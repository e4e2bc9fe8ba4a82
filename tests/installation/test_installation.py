"""What `cmake --install` and pip put where, and that it works there without the sources."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crosswind.profile import merge_directory, read_profile
from crosswind.tools.noise import MPIS, PROGRAMS
from support.installation import Site, copied_into_the_image, install
from support.load_programs import any_mpi
from support.preload import BUILD, ROOT

LIBRARY = "libcrosswind.so"
# What ld.so calls the folder of its libraries, and their size in bits: Red Hat's and SUSE's names, and Debian's.
NAMES_OF_LIB = {"lib64": 64, "lib": 32, "lib/x86_64-linux-gnu": 64, "lib32": 32, "lib/i386-linux-gnu": 32}
RECIPES = ("pbs", "flux", "modulefiles")  # of batch/, whose scripts are programs, and the rest of which is compiled


def below(folder: Path) -> set[Path]:
    """Its files and links, without what Python leaves there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    return {path for path in found if "__pycache__" not in path.parts}


def expected() -> set[Path]:
    """What is to be installed of these sources, as far as it was built here."""
    built = {LIBRARY, "libcrosswind-inject.so"}
    programs = {f"load/load-{name}.{mpi}" for name in PROGRAMS for mpi in MPIS}
    built |= {name for name in ("spank_crosswind.so", *programs) if (BUILD / name).exists()}
    if (BUILD / "lib32" / LIBRARY).exists():
        built |= {f"{name}/{LIBRARY}" for name in NAMES_OF_LIB}
    folders = {
        "lib/crosswind": built,
        "libexec/crosswind": {path.name for path in (ROOT / "batch").rglob("*.sh")},
        "share/crosswind": {"valgrind.supp"},
        "share/crosswind/experiments": {path for path in below(ROOT / "experiments") if path.suffix != ".tpr"},
        **{f"share/crosswind/batch/{name}": below(ROOT / "batch" / name) for name in RECIPES},
        "lib/systemd/system": below(ROOT / "packaging" / "systemd"),
        "lib/tmpfiles.d": below(ROOT / "packaging" / "tmpfiles.d"),
    }
    return {Path(folder) / name for folder, names in folders.items() for name in names}


def dynamic_section(path: Path) -> str:
    """As readelf prints it."""
    done = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True)
    assert "Dynamic section" in done.stdout
    return done.stdout


class TestFiles:
    """Without running anything of it."""

    def test_all_that_a_site_needs_is_installed_and_nothing_else(self, installed: Site) -> None:
        assert below(installed.prefix) == expected()

    def test_everybody_can_read_it_and_run_the_programs(self, installed: Site) -> None:
        for path in below(installed.prefix):
            mode = stat.S_IMODE((installed.prefix / path).stat().st_mode)
            is_program = path.parts[-2] == "load" or (path.suffix == ".sh" and path.name != "environment.sh")
            assert mode == (0o755 if is_program else 0o644), path

    @pytest.mark.parametrize("umask", [0o000, 0o077], ids=oct)
    def test_new_folders_are_open_but_nobody_else_may_write_there(self, umask: int, tmp_path: Path) -> None:
        """Whatever the umask is: the library in them is loaded into the programs of all users."""
        there = tmp_path / "there"
        there.mkdir()
        there.chmod(0o2775)
        before = os.umask(umask)
        try:
            install(there / "new" / "prefix")
        finally:
            os.umask(before)
        modes = {path: stat.S_IMODE(path.stat().st_mode) & 0o777 for path in there.rglob("*") if path.is_dir()}
        assert {path for path, mode in modes.items() if mode != 0o755} == set()
        assert stat.S_IMODE(there.stat().st_mode) == 0o2775

    @pytest.mark.parametrize("name", ["a b", "a:b", "a;b", "a'b", "a$b"])
    def test_a_prefix_that_LD_PRELOAD_or_a_script_would_not_take_is_refused(self, name: str, tmp_path: Path) -> None:
        command = ["cmake", "--install", str(BUILD), "--prefix", str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode != 0
        assert "name a prefix of letters" in " ".join(done.stderr.split())
        assert list(tmp_path.iterdir()) == []

    def test_recipes_name_the_prefix(self, installed: Site) -> None:
        """Word for word the same but for it, here and in the units, which name the place of the Python part."""
        named = 0
        for folder in ("libexec/crosswind", "share/crosswind/batch", "lib/systemd/system", "lib/tmpfiles.d"):
            for path in below(installed.prefix / folder):
                (source,) = [p for top in ("batch", "packaging") for p in (ROOT / top).rglob(path.name) if p.is_file()]
                text = source.read_text()
                for place in ("lib", "libexec", "share"):
                    text = text.replace(f"/usr/{place}/crosswind", f"{installed.prefix}/{place}/crosswind")
                assert (installed.prefix / folder / path).read_text() == text
                named += str(installed.libraries / LIBRARY) in text
        assert named == 4, "environment.sh, and one for each of three systems"

    def test_nothing_looks_for_the_build(self, installed: Site) -> None:
        files = [p for p in installed.libraries.rglob("*") if p.is_file() and not p.is_symlink()]
        assert len(files) >= 2
        for path in files:
            assert str(BUILD) not in (section := dynamic_section(path)), path
            assert str(ROOT) not in section, path
        assert "(NEEDED)" not in dynamic_section(installed.libraries / LIBRARY)

    def test_into_a_folder_that_is_packed(self, installed: Site, tmp_path: Path) -> None:
        """What is packed names the place where it will be, not the folder."""
        install(Path("/opt/crosswind"), DESTDIR=str(tmp_path))
        assert below(tmp_path) == {Path("opt/crosswind") / path for path in below(installed.prefix)}
        hook = (tmp_path / "opt/crosswind/share/crosswind/batch/pbs/crosswind_hook.py").read_text()
        assert f'LIBRARY = "/opt/crosswind/lib/crosswind/{LIBRARY}"' in hook
        assert str(tmp_path) not in hook

    def test_programs_meet_the_old_library_or_the_new_one(self, tmp_path: Path) -> None:
        """While it is installed again those that run keep theirs, and none that starts meets a part, or nothing."""
        install(tmp_path)
        library = tmp_path / "lib" / "crosswind" / LIBRARY
        with library.open("rb") as mapped, ThreadPoolExecutor() as pool:
            for _ in range(3):
                installing = pool.submit(install, tmp_path)
                while not installing.done():
                    started = subprocess.run(["/bin/true"], env={"LD_PRELOAD": str(library)}, capture_output=True)
                    assert (started.returncode, started.stderr) == (0, b"")
            assert os.fstat(mapped.fileno()).st_ino != library.stat().st_ino
            assert mapped.read() == library.read_bytes()

    def test_each_experiment_has_its_inputs(self, installed: Site) -> None:
        """Or the script that makes it."""
        folder = installed.prefix / "share" / "crosswind" / "experiments"
        inputs = set()
        for experiment in folder.glob("*.toml"):
            programs = tomllib.loads(experiment.read_text())["programs"].values()
            inputs |= {folder / program["input"] for program in programs if "input" in program}
        assert {path.suffix for path in inputs if not path.exists()} == {".tpr"}
        assert all((path.with_suffix("") / "prepare.sh").exists() for path in inputs if path.suffix == ".tpr")


class TestWithoutPython:
    """Nothing but what CMake installs."""

    def test_a_shell_sources_the_script(self, installed: Site) -> None:
        script = '. "$0" && echo "$LD_PRELOAD" && exec /bin/true'
        done = installed.run("/bin/sh", "-c", script, installed.prefix / "libexec/crosswind/environment.sh")
        assert (done.stdout, done.stderr) == (f"{installed.libraries / LIBRARY}\n", "")

    def test_programs_of_both_sizes_find_theirs_under_LIB(self, installed: Site, tmp_path: Path) -> None:
        if not (installed.libraries / "lib32").exists():
            pytest.skip("the compiler makes no 32-bit library (apt-get install gcc-multilib)")
        source = tmp_path / "hello.c"
        source.write_text('#include <unistd.h>\nint main(void) { return write(1, "hello", 5) != 5; }\n')
        for name, bits in NAMES_OF_LIB.items():
            assert (installed.libraries / name / LIBRARY).read_bytes()[:5] == b"\177ELF" + bytes([bits // 32]), name
        for option in ("-m64", "-m32"):
            subprocess.run(["gcc", option, "-o", tmp_path / option, source], check=True)
            preload = str(installed.libraries / "$LIB" / LIBRARY)
            done = installed.run(tmp_path / option, LD_PRELOAD=preload, CROSSWIND_HELPER_AFTER="0")
            assert (done.stdout, done.stderr) == ("hello", ""), option
        (profile,) = merge_directory(installed.spool)
        assert [process.exe for process in profile.processes] == ["-m64"]


class TestCommand:
    """The command, below the same prefix, finds the rest without being told."""

    def test_a_program_is_profiled(self, site: Site) -> None:
        assert site.crosswind("info", "--lib").stdout == f"{site.libraries / LIBRARY}\n"
        site.crosswind("run", "-o", "p.xwp", "--", "cat", "/etc/passwd")
        profile = read_profile(site.work / "p.xwp")
        assert [process.exe for process in profile.processes] == ["cat"]

    def test_the_load_programs(self, site: Site) -> None:
        listed = [line.split()[0] for line in site.crosswind("noise").stdout.splitlines()]
        assert listed == list(PROGRAMS)
        if not (BUILD / "load" / f"load-cpu.{any_mpi()}").exists():
            pytest.skip("no load program was built: no MPI")
        report = json.loads(site.crosswind("noise", "cpu", "--", "--seconds", "1").stdout)
        assert (report["program"], report["ended"]) == ("load-cpu", "time")

    def test_an_experiment(self, site: Site) -> None:
        """It is read where it lies, and nothing is written there."""
        folder = site.prefix / "share" / "crosswind" / "experiments"
        assert "load-node" in site.crosswind("experiment", "run", folder / "node.toml", "--dry-run").stdout
        assert {Path("share/crosswind/experiments") / path for path in below(folder)} < expected()

    def test_the_injector(self, site: Site) -> None:
        done = site.crosswind(
            "inject", "--without-rank", "--functions", "read", "--probability", "1", "--mean", "1ms", "--",
            "cat", "/etc/passwd",
        )  # fmt: skip
        assert "delays" in done.stderr


def test_the_image_may_take_what_it_copies() -> None:
    """.dockerignore keeps everything else from the builder."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert allowed == {name for names, _ in copied_into_the_image() for name in names}
