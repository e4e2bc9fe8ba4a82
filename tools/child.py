"""Run a program in our place: signals reach it, its exit code is ours."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["CommandNotRun", "end_like", "run_child"]

# What others send to a job to make it react. Stop signals stay ours: the terminal sends them to the whole group.
FORWARDED = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU}
)
RESTORED = frozenset({signal.SIGPIPE, signal.SIGXFSZ})  # Python ignores them; a program expects them not to be
NO_INPUT = ((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),)
SIGNAL_EXIT = 128  # a shell's exit code for death by signal n is 128 + n


class CommandNotRun(Exception):
    """The program could not be started. `exit_code` is what a shell would exit with: 127 not found, 126 otherwise."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.exit_code = 127 if isinstance(error, FileNotFoundError) else 126


def run_child(
    command: Sequence[str],
    environment: Mapping[str, str],
    translate: Callable[[int], int] = lambda number: number,
    *,
    apart: bool = False,
) -> int:
    """Run `command` to its end and return its wait status (os.wait). Leaves the forwarded signals blocked.

    translate: which signal to pass on in place of one that came. apart: in a process group of its own and with no
    input, so that what a terminal sends (Ctrl-C, a hang-up) reaches it by us alone, too, and translated; what we are
    to ignore (nohup) does not.

    Raises CommandNotRun when it does not start. Not apart, a signal of the terminal reaches the child by itself, being
    in our process group; only what a process sent to us is passed on.
    """
    group: dict[str, Any] = {"setpgroup": 0, "file_actions": NO_INPUT} if apart else {}
    forwarded = {n for n in FORWARDED if not apart or signal.getsignal(n) != signal.SIG_IGN}
    watched = {*forwarded, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        pid = os.posix_spawnp(command[0], list(command), environment, setsigmask=before, setsigdef=RESTORED, **group)
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise CommandNotRun(error) from error
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        info = signal.sigwaitinfo(watched)
        of_terminal = info.si_code > 0  # from the kernel, not from a process
        if info.si_signo != signal.SIGCHLD and (apart or not of_terminal):
            os.kill(pid, translate(info.si_signo))


def end_like(status: int) -> int:
    """The exit code that tells what `status` says; does not return if the child died by a signal: so do we then."""
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    number = os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child has left its core already
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    while signal.sigtimedwait(FORWARDED, 0):
        pass  # what came after the child's end has no receiver any more
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    return SIGNAL_EXIT + number
