"""What Slurm says of nodes: those that are down or taken out of service, from `sinfo --json`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from crosswind.collector.batch_system.hostlist import expand
from crosswind.collector.batch_system.slurm import Text, Time, UnreadableReport, document_of, or_unreadable

__all__ = ["NodeReport", "parse_nodes"]

MAX_NODES = 1 << 17


@dataclass(frozen=True)
class NodeReport:
    """One node. is_down: it does not answer, or is set down; is_drained: it takes no jobs. reason: what the operator or
    Slurm says of it; since_ns: since when, UTC, None where not said.
    """

    name: str
    is_down: bool
    is_drained: bool
    reason: str
    since_ns: int | None


def _words(value: object) -> frozenset[str]:
    """The state and its flags, in small letters: a word in older versions, a list in newer ones."""
    values = value if isinstance(value, list) else [value]
    return frozenset(str(word).lower() for word in values[:64])


Words = Annotated[frozenset[str], BeforeValidator(_words)]


class _Node(BaseModel):
    """A node in the answer of `sinfo --json` of Slurm 22.05; rows of newer versions are brought into this form."""

    model_config = ConfigDict(extra="ignore")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    state: Words
    state_flags: Words = frozenset()
    reason: Text = ""
    since_ns: Time = Field(None, alias="reason_changed_at")

    def report(self) -> NodeReport:
        """What it says."""
        words = self.state | self.state_flags
        return NodeReport(
            self.name, bool(words & {"down", "fail"}), bool(words & {"drain"}), self.reason, self.since_ns
        )


def parse_nodes(content: bytes) -> tuple[list[NodeReport], list[str]]:
    """The nodes of `sinfo --json`, and why others could not be read. Raises UnreadableReport when it is no such
    answer.
    """
    document = or_unreadable(lambda: document_of(content))
    if isinstance(document, dict) and document.get("errors"):
        raise UnreadableReport("sinfo --json reports errors, so its list of nodes may not be whole")
    rows = _rows_of(document) if isinstance(document, dict) else None
    if rows is None or len(rows) > MAX_NODES:
        raise UnreadableReport("this is no answer of sinfo --json: it has no list of nodes")
    nodes: list[NodeReport] = []
    refused: list[str] = []
    for row in rows:
        try:
            nodes.append(or_unreadable(lambda row=row: _Node.model_validate(row).report()))  # type: ignore[misc]
        except UnreadableReport as error:
            refused.append(str(error))
    return nodes, refused


def _rows_of(document: dict[str, Any]) -> list[Any] | None:
    """A row for each node, or what could not be made one; None: there is no list of them."""
    if isinstance(document.get("nodes"), list):
        nodes: list[Any] = document["nodes"]
        return nodes
    groups = document.get("sinfo")
    if not isinstance(groups, list):
        return None
    rows: dict[object, Any] = {}  # by name: a node is in the group of each of its partitions
    for number, group in enumerate(groups[:MAX_NODES]):
        try:
            rows |= {row["name"]: row for row in _split(group)}
        except (AttributeError, LookupError, TypeError, ValueError):
            rows[number] = group
        if len(rows) > MAX_NODES:
            break
    return list(rows.values())


def _split(group: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The nodes of a group of newer versions: those of a partition that are in the same state. Raises AttributeError,
    LookupError, TypeError, ValueError for what is none.
    """
    said = group.get("reason")
    reason, since = (said.get("description"), said.get("time")) if isinstance(said, dict) else (said, None)
    for text in group["nodes"]["nodes"]:
        for name in expand(text):
            yield {"name": name, "state": group["node"]["state"], "reason": reason, "reason_changed_at": since}
