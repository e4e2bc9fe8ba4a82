"""The ways into a job without a plugin, in environments as the batch systems make them."""

import importlib.util
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

BATCH = Path(__file__).resolve().parents[2] / "batch"
USERS = "/lib/users.so other.so"


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "libcrosswind.so"
    path.write_bytes(b"\x7fELF")
    return path


CASES = [  # what is there, and what LD_PRELOAD is then; {} is the library
    ({}, "{}"),
    ({"LD_PRELOAD": USERS}, "{}:" + USERS),
    ({"LD_PRELOAD": "/home/me/libcrosswind.so"}, "/home/me/libcrosswind.so"),
    ({"LD_PRELOAD": "a.so /home/me/libcrosswind.so"}, "a.so /home/me/libcrosswind.so"),
    ({"CROSSWIND_DISABLE": "1"}, ""),
    ({"CROSSWIND_DISABLE": "1", "LD_PRELOAD": USERS}, USERS),
    ({"CROSSWIND_DISABLE": "0"}, "{}"),
]

# Words after the starter, and what they print: as LSF gives them without "%USRCMD", and in one word with it.
COMMANDS = [
    (("CW_A=1 2", "CW_B=3", "/bin/sh", "-c", 'printf %s "$CW_A.$CW_B"'), "1 2.3"),
    (("cd", "/"), ""),
    (("eval", "printf", "%s", "x"), "x"),
    (("exec", "printf", "%s", "x y"), "x y"),
    (("env/name=1", "x"), "ran x"),
    (("./a program",), "ran "),
    (("printf %s 'a b'",), "a b"),
    (('CW_A=1; export CW_A; cd / && printf %s "$CW_A $PWD"',), "1 /"),
    (("CW_A=2 /bin/sh -c 'printf %s \"$CW_A\"' | tr 2 3",), "3"),
]


class TestShell:
    """environment.sh, by way of job_starter.sh."""

    def run(self, tmp_path, environment, *command):
        for name in ("environment.sh", "job_starter.sh"):
            shutil.copy(BATCH / name, tmp_path)
        # The words of LD_PRELOAD name no real libraries, so the command is the shell's own: nothing is executed.
        shell = [
            "/bin/sh",
            "-c",
            '. "$0"; printf "%s|%s" "${LD_PRELOAD-}" "${CROSSWIND_SPOOL-}"',
            f"{tmp_path}/environment.sh",
        ]
        clean = {k: v for k, v in environment.items() if k != "LD_PRELOAD"}
        if "LD_PRELOAD" in environment:
            shell[2] = f"LD_PRELOAD='{environment['LD_PRELOAD']}'; {shell[2]}"
        done = subprocess.run([*(command or shell)], env=clean, capture_output=True, text=True, timeout=10)
        assert (done.returncode, "not found" in done.stderr) == (0, False), done.stderr
        return done.stdout

    @pytest.mark.parametrize(("there", "expected"), CASES)
    def test_preload(self, tmp_path, library, there, expected):
        found = self.run(tmp_path, {**there, "CROSSWIND_SITE_LIBRARY": str(library)})
        assert found == expected.format(library) + "|"

    def test_missing_library(self, tmp_path):
        assert self.run(tmp_path, {"CROSSWIND_SITE_LIBRARY": "/nonexistent/libcrosswind.so"}) == "|"

    def test_spool_of_the_site_gives_way_to_the_users(self, tmp_path, library):
        site = {"CROSSWIND_SITE_LIBRARY": str(library), "CROSSWIND_SITE_SPOOL": "/site"}
        assert self.run(tmp_path, site).endswith("|/site")
        assert self.run(tmp_path, {**site, "CROSSWIND_SPOOL": "/mine"}).endswith("|/mine")

    def test_job_starter_runs_the_command_as_it_is(self, tmp_path):
        environment = {"CROSSWIND_SITE_LIBRARY": "/nonexistent", "PATH": "/usr/bin:/bin"}
        output = self.run(tmp_path, environment, tmp_path / "job_starter.sh", "printf", "%s.", "a b", "$c", "*")
        assert output == "a b.$c.*."

    @pytest.mark.parametrize(("words", "expected"), COMMANDS)
    @pytest.mark.parametrize("lines", ["environment.sh", None])
    def test_job_starter_runs_whatever_a_shell_runs(self, tmp_path, words, expected, lines):
        """Also where environment.sh is missing."""
        starter = tmp_path / "starter" / "job_starter.sh"
        starter.parent.mkdir()
        for name in filter(None, ("job_starter.sh", lines)):
            shutil.copy(BATCH / name, starter.parent)
        (tmp_path / "env").mkdir()
        for program in (tmp_path / "a program", tmp_path / "env" / "name=1"):
            program.write_text('#!/bin/sh\nprintf "ran %s" "$*"\n')
            program.chmod(0o755)
        environment = {"PATH": "/usr/bin:/bin", "CROSSWIND_SITE_LIBRARY": "/nonexistent"}
        done = subprocess.run(
            [starter, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=10
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")

    @pytest.mark.parametrize(("words", "status"), [(("false",), 1), (("exit 7",), 7), (("no-such-program", "x"), 127)])
    def test_job_starter_ends_as_the_command_does(self, words, status):
        done = subprocess.run([BATCH / "job_starter.sh", *words], env={"PATH": "/usr/bin:/bin"}, capture_output=True)
        assert done.returncode == status


class TestPbs:
    """The hook, with a PBS of our own."""

    @pytest.fixture
    def hook(self, library):
        spec = importlib.util.spec_from_file_location("crosswind_hook", BATCH / "pbs" / "crosswind_hook.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.LIBRARY = str(library)
        return module

    @pytest.mark.parametrize(("there", "expected"), CASES)
    def test_preload(self, hook, library, there, expected):
        environment = dict(there)
        hook.prepare(environment)
        assert environment.get("LD_PRELOAD", "") == expected.format(library)

    def test_missing_library(self, hook):
        hook.LIBRARY = "/nonexistent/libcrosswind.so"
        environment = {}
        hook.prepare(environment)
        assert environment == {}

    @pytest.mark.parametrize("env", [{}, None])
    def test_the_job_is_launched_whatever_happens(self, hook, monkeypatch, env):
        accepted, logged = [], []
        event = types.SimpleNamespace(env=env, accept=lambda: accepted.append(True))
        pbs = types.SimpleNamespace(event=lambda: event, logmsg=lambda *words: logged.append(words), LOG_WARNING=1)
        monkeypatch.setitem(sys.modules, "pbs", pbs)
        hook.main()
        assert (accepted, bool(logged)) == ([True], env is None)


@pytest.mark.parametrize(("there", "expected"), CASES)
def test_flux(tmp_path, library, there, expected):
    """In a Lua whose `shell` is a table of variables."""
    lua = next((path for path in map(shutil.which, ("lua", "lua5.4", "lua5.3", "lua5.1")) if path), None)
    if lua is None:
        pytest.skip("no lua: the lines for Flux were not run (apt-get install lua5.3)")
    text = (BATCH / "flux" / "crosswind.lua").read_text().replace("/usr/lib/crosswind/libcrosswind.so", str(library))
    pairs = ", ".join(f'{name} = "{value}"' for name, value in there.items())
    before = f"""local env = {{ {pairs} }}
shell = {{ getenv = function(n) return env[n] end, setenv = function(n, v) env[n] = v end }}
"""
    (tmp_path / "initrc.lua").write_text(f'{before}do\n{text}\nend\nio.write(env.LD_PRELOAD or "")')
    done = subprocess.run([lua, tmp_path / "initrc.lua"], capture_output=True, text=True, timeout=10)
    assert (done.stdout, done.stderr) == (expected.format(library), "")


@pytest.mark.parametrize("there", [True, False])
def test_module_file(tmp_path, library, there):
    """In a Tcl that knows the two words of modules; real ones say the same."""
    if shutil.which("tclsh") is None:
        pytest.skip("no tclsh: the module file was not run (apt-get install tcl)")
    text = (BATCH / "modulefiles" / "crosswind").read_text()
    text = text.replace("/usr/lib/crosswind/libcrosswind.so", str(library) if there else "/nonexistent.so")
    words = 'proc module-whatis {text} {}\nproc prepend-path {name value} { puts "$name $value" }\n'
    (tmp_path / "module.tcl").write_text(words + text)
    done = subprocess.run(["tclsh", tmp_path / "module.tcl"], capture_output=True, text=True, timeout=10)
    assert (done.stdout, done.stderr) == (f"LD_PRELOAD {library}\n" if there else "", "")
