"""Run a program in our place: signals reach it, its exit code is ours."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence

__all__ = ["CommandNotRun", "end_like", "run_child"]

# What others send to a job to make it react. Stop signals stay ours: the terminal sends them to the whole group.
FORWARDED = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU}
)
RESTORED = frozenset({signal.SIGPIPE, signal.SIGXFSZ})  # Python ignores them; a program expects them not to be
SIGNAL_EXIT = 128  # a shell's exit code for death by signal n is 128 + n


class CommandNotRun(Exception):
    """The program could not be started. `exit_code` is what a shell would exit with: 127 not found, 126 otherwise."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.exit_code = 127 if isinstance(error, FileNotFoundError) else 126


def run_child(
    command: Sequence[str], environment: Mapping[str, str], translate: Callable[[int], int] = lambda number: number
) -> int:
    """Run `command` to its end and return its wait status (os.wait). Leaves the forwarded signals blocked.

    translate: which signal to pass on in place of one that came.

    Raises CommandNotRun when it does not start. A signal of the terminal reaches the child by itself, being in our
    process group; only what a process sent to us is passed on.
    """
    watched = {*FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        pid = os.posix_spawnp(command[0], list(command), environment, setsigmask=before, setsigdef=RESTORED)
    except OSError as error:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise CommandNotRun(error) from error
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        info = signal.sigwaitinfo(watched)
        if info.si_signo != signal.SIGCHLD and info.si_code <= 0:  # <= 0: from a process, not from the kernel
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
