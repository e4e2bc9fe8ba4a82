"""Every wrapper counts exactly what a program that knows its own calls has called, and nothing else."""

import pytest

from support.preload import FUNCTION_PROGRAMS, MODES, PROGRAMS, counts, expected, profile, run, table

STDIN = b"abcdefgh7 8 9 10\n"


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    return request.param


def counted(program, tmp_path, mode, *, arguments=()):
    (tmp_path / "spool").mkdir(exist_ok=True)
    output = run([PROGRAMS / program, *arguments], tmp_path / "spool", extra=mode, stdin=STDIN)
    return counts(profile(tmp_path / "spool")), expected(output)


@pytest.mark.parametrize("program", FUNCTION_PROGRAMS)
def test_every_function_under_every_name(program, tmp_path, mode):
    (tmp_path / "work").mkdir()
    seen, said = counted(program, tmp_path, mode, arguments=[tmp_path / "work"])
    assert seen == said


def test_the_programs_leave_no_row_out(tmp_path, mode):
    called = set()
    for program in FUNCTION_PROGRAMS:
        (tmp_path / program).mkdir()
        output = run([PROGRAMS / program, tmp_path / program], tmp_path, extra=mode, stdin=STDIN)
        called |= set(expected(output))
    assert called == {row["name"] for row in table()}


def test_threads_that_come_and_go(tmp_path, mode):
    seen, said = counted("posix_threads", tmp_path, mode)
    assert said["write"][0] == 100 * 1000 + sum(range(100))
    assert seen == said


def test_interrupted_and_abandoned_calls(tmp_path, mode):
    seen, said = counted("posix_signals", tmp_path, mode)
    assert seen == said


def test_without_timing(tmp_path, mode):
    (tmp_path / "work").mkdir()
    seen, said = counted("posix_transfers", tmp_path, {**mode, "CROSSWIND_TIMING": "0"}, arguments=[tmp_path / "work"])
    assert seen == said


def test_disabled_is_as_if_it_were_not_there(tmp_path):
    (tmp_path / "spool").mkdir()
    output = run([PROGRAMS / "posix_threads"], tmp_path / "spool", extra={"CROSSWIND_DISABLE": "1"})
    assert b"write" in output
    assert list((tmp_path / "spool").iterdir()) == []
