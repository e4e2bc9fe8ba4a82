"""What Slurm says of jobs, as BatchJob: the events of batch/slurm/job_event.sh, and `squeue --json`.

All of it is read as hostile: a user chooses the names of a job. Text is cut and made printable, numbers are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from crosswind.collector.batch_system.hostlist import expand
from crosswind.db.batch import STATES, BatchJob

__all__ = ["Text", "Time", "UnreadableReport", "document_of", "or_unreadable", "parse_event", "parse_queue"]

SECOND = 10**9
_NO_TASK = 0xFFFFFFFE  # what Slurm writes where a job is no element of an array
_MAX_TEXT = 1024
_MAX_TIME = 1 << 33


class UnreadableReport(ValueError):
    """Something that claims to come from Slurm and cannot be read; the message, one line, says why."""


def _text(value: object) -> str:
    """Text as a person may read it: no control characters, at most _MAX_TEXT. Slurm writes (null) for nothing."""
    text = "" if value is None or value == "(null)" else str(value)
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text[:_MAX_TEXT])


def _number(value: object) -> object:
    """A number, also where newer versions of Slurm wrap it: {"set": true, "infinite": false, "number": 3}."""
    if isinstance(value, dict):
        return value.get("number") if value.get("set") else None
    return None if value in ("", "(null)", "Unknown", "None") else value


def _time(value: object) -> int | None:
    """Seconds of UTC as ns; nothing where Slurm has 0 or a time that is not known."""
    number = _number(value)
    seconds = int(str(number)) if number is not None else 0
    return seconds * SECOND if 0 < seconds < _MAX_TIME else None


def _array_task(value: object) -> str:
    number = _number(value)
    return "" if number is None or str(number) == str(_NO_TASK) else _text(number)


def _job_or_none(value: object) -> str:
    number = _number(value)
    return "" if number is None or str(number) == "0" else _id(number)


def _id(value: object) -> str:
    text = str(_number(value))
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise ValueError("a job id has one to ten digits")
    return text


def _hosts(value: object) -> tuple[str, ...]:
    text = "" if value in (None, "(null)", "None assigned") else str(value)
    return expand(text)


def _total_cpus(value: object) -> int | None:
    """`16(x2),8` of SLURM_JOB_CPUS_PER_NODE: 40."""
    total = 0
    for part in str(value).split(","):
        match = re.fullmatch(r"(\d{1,6})(?:\(x(\d{1,6})\))?", part)
        if not match:
            return None
        total += int(match[1]) * int(match[2] or 1)
    return total if total < 1 << 31 else None


def _state(value: object) -> str:
    """The first word: squeue writes `CANCELLED by 1001`, newer versions a list of flags."""
    words = value if isinstance(value, list) else str(value).split()
    return str(words[0]) if words else ""


Text = Annotated[str, BeforeValidator(_text)]
Id = Annotated[str, BeforeValidator(_id)]
OtherId = Annotated[str, BeforeValidator(_job_or_none)]
Time = Annotated[int | None, BeforeValidator(_time)]
Task = Annotated[str, BeforeValidator(_array_task)]
Hosts = Annotated[tuple[str, ...], BeforeValidator(_hosts)]
Uid = Annotated[int, Field(ge=0, lt=1 << 32)]
Count = Annotated[int, Field(ge=0, lt=1 << 31)]
MaybeCount = Annotated[int | None, BeforeValidator(_number), Field(ge=0, lt=1 << 31)]
State = Annotated[str, BeforeValidator(_state)]


class _Start(BaseModel):
    """The variables of PrologSlurmctld. It has no time: that is when the script ran."""

    model_config = ConfigDict(extra="ignore")
    event: Literal["start"]
    at_ns: Annotated[int, Field(gt=0, lt=_MAX_TIME * SECOND)]
    job_id: Id = Field(alias="SLURM_JOB_ID")
    run: Count = Field(0, alias="SLURM_JOB_RESTART_COUNT")
    uid: Uid = Field(alias="SLURM_JOB_UID")
    user: Text = Field("", alias="SLURM_JOB_USER")
    account: Text = Field("", alias="SLURM_JOB_ACCOUNT")
    partition: Text = Field("", alias="SLURM_JOB_PARTITION")
    name: Text = Field("", alias="SLURM_JOB_NAME")
    hosts: Hosts = Field((), alias="SLURM_JOB_NODELIST")
    cpus: Annotated[int | None, BeforeValidator(_total_cpus)] = Field(None, alias="SLURM_JOB_CPUS_PER_NODE")
    array_job_id: OtherId = Field("", alias="SLURM_ARRAY_JOB_ID")
    array_task: Task = Field("", alias="SLURM_ARRAY_TASK_ID")
    het_job_id: OtherId = Field("", alias="SLURM_HET_JOB_ID")

    def job(self) -> BatchJob:
        """What it says."""
        return BatchJob(state="RUNNING", start_ns=self.at_ns, **self.model_dump(exclude={"event", "at_ns"}))


class _End(BaseModel):
    """The variables of jobcomp/script. A job that is queued again has the state PENDING and an end."""

    model_config = ConfigDict(extra="ignore")
    event: Literal["end"]
    job_id: Id = Field(alias="JOBID")
    state: State = Field(alias="JOBSTATE")
    uid: Uid = Field(alias="UID")
    user: Text = Field("", alias="USERNAME")
    account: Text = Field("", alias="ACCOUNT")
    partition: Text = Field("", alias="PARTITION")
    name: Text = Field("", alias="JOBNAME")
    submit_ns: Time = Field(None, alias="SUBMIT")
    start_ns: Time = Field(None, alias="START")
    end_ns: Time = Field(alias="END")
    hosts: Hosts = Field((), alias="NODES")
    cpus: MaybeCount = Field(None, alias="PROCS")
    exit: Annotated[str, Field(pattern=r"^\d{1,9}:\d{1,9}$")] = Field("0:0", alias="EXITCODE")
    array_job_id: OtherId = Field("", alias="ARRAYJOBID")
    array_task: Task = Field("", alias="ARRAYTASKID")
    het_job_id: OtherId = Field("", alias="HETJOBID")

    def job(self) -> BatchJob:
        """What it says. One that never started has no nodes."""
        said = self.model_dump(exclude={"event", "exit"})
        code, signal = map(int, self.exit.split(":"))
        state = "REQUEUED" if self.state in ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED") else self.state
        start_ns = self.start_ns if self.hosts else None
        return BatchJob(**said | {"state": _known(state), "start_ns": start_ns}, exit_code=code, signal=signal)


class _Queued(BaseModel):
    """A job in the answer of `squeue --json`, of Slurm 22.05 and later."""

    model_config = ConfigDict(extra="ignore")
    job_id: Id
    run: MaybeCount = Field(None, alias="restart_cnt")
    state: State = Field(alias="job_state")
    uid: Uid = Field(alias="user_id")
    user: Text = Field("", alias="user_name")
    account: Text = ""
    partition: Text = ""
    name: Text = ""
    submit_ns: Time = Field(None, alias="submit_time")
    start_ns: Time = Field(None, alias="start_time")
    end_ns: Time = Field(None, alias="end_time")
    hosts: Hosts = Field((), alias="nodes")
    cpus: MaybeCount = None
    exit: Any = Field(None, alias="exit_code")
    array_job_id: OtherId = ""
    array_task: Task = Field("", alias="array_task_id")
    het_job_id: OtherId = ""

    def job(self) -> BatchJob | None:
        """What it says; None while the job ends: which run is meant is not clear then. Of a job that has not started
        or not ended yet the times are Slurm's guesses.
        """
        if self.state == "COMPLETING":
            return None
        state = _known(self.state)
        said: dict[str, Any] = self.model_dump(exclude={"exit"}) | {"state": state, "run": self.run or 0}
        if STATES[state] < STATES["LOST"]:
            said["end_ns"] = None
        if state == "PENDING" or not self.hosts:
            said["start_ns"] = None
        status = self.exit if isinstance(self.exit, int) and STATES[state] >= STATES["LOST"] else None
        return BatchJob(
            **said,
            exit_code=None if status is None else status >> 8 & 255,
            signal=None if status is None else status & 127,
        )


_Event = TypeAdapter(Annotated[_Start | _End, Field(discriminator="event")])
_Answer = TypeVar("_Answer")
_SAME_AS = {"CONFIGURING": "RUNNING", "STOPPED": "SUSPENDED", "RESIZING": "RUNNING", "SIGNALING": "RUNNING",
            "STAGE_OUT": "RUNNING", "REVOKED": "CANCELLED", "REQUEUE_HOLD": "PENDING", "REQUEUE_FED": "PENDING",
            "SPECIAL_EXIT": "FAILED", "RESV_DEL_HOLD": "PENDING"}  # fmt: skip


def parse_event(content: bytes) -> BatchJob:
    """What an event says. Raises UnreadableReport."""
    return or_unreadable(lambda: _Event.validate_python(document_of(content)).job())


def parse_queue(content: bytes) -> tuple[list[BatchJob], list[str], set[str]]:
    """The jobs of `squeue --json --states=all`, why others could not be read, and the ids of all that it lists.

    Raises UnreadableReport when it is no such answer.
    """
    document = or_unreadable(lambda: document_of(content))
    if isinstance(document, dict) and document.get("errors"):
        raise UnreadableReport("squeue --json reports errors, so its list of jobs may not be whole")
    rows = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise UnreadableReport("this is no answer of squeue --json: it has no list of jobs")
    jobs: list[BatchJob] = []
    refused: list[str] = []
    known: set[str] = set()
    for row in rows:
        known.add(str(row.get("job_id")) if isinstance(row, dict) else "")
        try:
            job = or_unreadable(lambda row=row: _Queued.model_validate(row).job())  # type: ignore[misc]
        except UnreadableReport as error:
            refused.append(str(error))
            continue
        if job is not None:
            jobs.append(job)
    return jobs, refused, known


def _known(state: str) -> str:
    state = _SAME_AS.get(state, state)
    if state not in STATES:
        raise ValueError(f"unknown state of a job: {_text(state)[:40]!r}")
    return state


def document_of(content: bytes) -> Any:  # noqa: ANN401 (what JSON may be)
    """What the bytes say as JSON; characters that are none are replaced. Raises ValueError, RecursionError."""
    return json.loads(content.decode("utf-8", "replace"))


def or_unreadable(make: Callable[[], _Answer]) -> _Answer:
    """What make() makes. Whatever goes wrong becomes an UnreadableReport of one line, without what was read: it may be
    anything.
    """
    try:
        return make()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UnreadableReport(f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:200]) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(_text(error)[:200]) from None
