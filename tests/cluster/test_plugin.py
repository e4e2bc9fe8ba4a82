"""The SPANK plugin in a real Slurm: what tasks find in their environment, and that no job ever fails because of it."""

from __future__ import annotations

import pytest

from support.cluster import LIBRARY, Cluster

SHOW = "/bin/bash -c 'echo \"<$LD_PRELOAD|$CROSSWIND_DISABLE|$CROSSWIND_SLICE|$CROSSWIND_SPOOL>\"'"
USER = "cw-alice"


def shown(text: str) -> list[list[str]]:
    """What each task that ran SHOW printed: LD_PRELOAD, CROSSWIND_DISABLE, CROSSWIND_SLICE, CROSSWIND_SPOOL."""
    return [line.strip("<>").split("|") for line in text.splitlines() if line.startswith("<")]


def srun(cluster: Cluster, *options: str, before: tuple[str, ...] = ()) -> list[str]:
    """What one task of srun prints."""
    output = cluster.run("env", *before, "srun", "-n1", *options, "bash", "-c", SHOW, user=USER)
    (found,) = shown(output)
    return found


class TestOption:
    """Of srun, sbatch and salloc."""

    def test_default_is_on(self, cluster):
        assert srun(cluster) == [str(LIBRARY), "", "500ms", str(cluster.local / "spool")]

    def test_of_srun(self, cluster):
        assert srun(cluster, "--crosswind=off")[:2] == ["", "1"]
        assert srun(cluster, "--crosswind=slice=1s,digest=full")[:3] == [str(LIBRARY), "0", "1s"]

    def test_is_in_the_help(self, cluster):
        assert "--crosswind=on|off|slice=4s" in cluster.run("sbatch", "--help")

    def test_what_is_not_understood_is_said_and_ignored(self, cluster):
        output = cluster.run("srun", "-n1", "--crosswind=lib=/tmp/evil.so,of", "bash", "-c", SHOW, user=USER)
        assert "crosswind: --crosswind=lib=/tmp/evil.so is not understood and ignored" in output
        assert shown(output)[0][0] == str(LIBRARY)

    @pytest.mark.parametrize("export", ["--export=ALL", "--export=NONE"])
    def test_of_sbatch_holds_for_the_script_and_its_steps(self, cluster, export):
        jobs = {
            option: cluster.submit(USER, f"{SHOW}\nsrun {SHOW}\nsrun --crosswind=on {SHOW}", option, export)
            for option in ("--crosswind=off", "--crosswind=slice=2s", "--crosswind=on")
        }
        cluster.wait(list(jobs.values()))
        off, slices, on = (shown(cluster.output(job)) for job in jobs.values())
        assert [task[:2] for task in off] == [["", "1"], ["", "1"], [str(LIBRARY), "0"]]
        assert [[task[0], task[2]] for task in slices] == [[str(LIBRARY), "2s"]] * 3
        assert [task[0] for task in on] == [str(LIBRARY)] * 3

    def test_of_salloc_holds_for_its_steps(self, cluster):
        output = cluster.run("salloc", "-n1", "--crosswind=off", "srun", "bash", "-c", SHOW, user=USER)
        assert shown(output)[0][:2] == ["", "1"]


class TestEnvironment:
    """What the user brought stays."""

    def test_users_preload_stays_behind_ours(self, cluster):
        users = "LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6"
        assert srun(cluster, before=(users,))[0] == f"{LIBRARY}:/lib/x86_64-linux-gnu/libm.so.6"
        assert srun(cluster, "--crosswind=off", before=(users,))[0] == "/lib/x86_64-linux-gnu/libm.so.6"

    def test_users_variables_stay(self, cluster):
        found = srun(cluster, before=("CROSSWIND_SPOOL=/tmp", "CROSSWIND_SLICE=3s"))
        assert found[2:] == ["3s", "/tmp"]
        assert srun(cluster, before=("CROSSWIND_DISABLE=1",))[:2] == ["", "1"]

    def test_spool_directory_is_as_the_library_wants_it(self, cluster):
        srun(cluster, "-w", "n1")
        status = cluster.spool_of("n1").stat()
        assert (status.st_uid, oct(status.st_mode & 0o7777)) == (0, "0o1777")


def plugstack(cluster: Cluster, line: str) -> None:
    (cluster.state / "etc" / "plugstack.conf").write_text(line + "\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing said", ""),
        ("no library", "lib=/nonexistent/libcrosswind.so spool=/nonexistent/spool"),
        ("a library that is none", "lib=/etc/passwd spool=/etc/passwd"),
        ("not understood", "lib default=perhaps slice=never nonsense"),
        ("read-only spool", "lib={library} spool=/proc/spool"),
        ("off by default", "lib={library} default=off"),
    ],
)
def test_no_job_fails_whatever_is_wrong_with_us(cluster, name, words):
    kept = (cluster.state / "etc" / "plugstack.conf").read_text()
    plugin = kept.split()[1]
    try:
        plugstack(cluster, f"required {plugin} {words.format(library=LIBRARY)}")
        job = cluster.submit(USER, f"{SHOW}\nsrun {SHOW}\nexit 7")
        cluster.wait([job])
        first, second = shown(cluster.output(job))
        assert cluster.queue()[job]["exit_code"] == 7 << 8
        assert first[0] == second[0] == (str(LIBRARY) if name == "read-only spool" else "")
        assert cluster.output(job).count("\n") == 2, cluster.output(job)
    finally:
        plugstack(cluster, kept.strip())
