"""A hook for OpenPBS and PBS Pro: the library in front of LD_PRELOAD of every task of a job.

qmgr -c "create hook crosswind event=execjob_launch"
qmgr -c "import hook crosswind application/x-python default /usr/share/crosswind/batch/pbs/crosswind_hook.py"

PBS runs hooks with a Python of its own, so this file uses nothing but what PBS and that Python have.
"""

import os

LIBRARY = "/usr/lib/crosswind/libcrosswind.so"
SPOOL = "/dev/shm/crosswind"  # noqa: S108 (the place that the library looks for)


def prepare(env: dict) -> None:
    """Add to a task's environment, unless it says no. A missing library is left out: the linker would complain."""
    if env.get("CROSSWIND_DISABLE", "0") not in ("", "0", "off", "no") or not os.access(LIBRARY, os.R_OK):
        return
    users = env.get("LD_PRELOAD", "")
    if any(os.path.basename(entry) == os.path.basename(LIBRARY) for entry in users.replace(" ", ":").split(":")):
        return
    env["LD_PRELOAD"] = LIBRARY + ":" + users if users else LIBRARY
    if "CROSSWIND_SPOOL" not in env:
        env["CROSSWIND_SPOOL"] = SPOOL


def main() -> None:
    """What PBS calls. Whatever goes wrong, the job is launched."""
    import pbs

    event = pbs.event()
    try:
        prepare(event.env)
    except Exception as error:  # no failure of ours may stop a job
        pbs.logmsg(pbs.LOG_WARNING, "crosswind: %s" % error)  # noqa: UP031 (an old Python may run this)
    event.accept()


if __name__ in ("__main__", "builtins", "__builtin__"):
    main()
