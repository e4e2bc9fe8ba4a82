"""Slurm's topology.conf: which switch each node is plugged into, and what is above it. Everything in it is bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from crosswind.collector.batch_system.hostlist import MAX_HOSTS, expand

__all__ = ["TopologyError", "parse_topology", "read_topology"]

MAX_FILE = 4 << 20
MAX_SWITCHES = 1 << 14
MAX_NAME = 256
MAX_LEVELS = 16
_WORD = re.compile(r"([A-Za-z]+)=(\S*)")
_OPTIONAL = frozenset({"linkspeed"})


class TopologyError(ValueError):
    """The file cannot be used; the message is one line that names the line of the file and the way out."""


def read_topology(path: Path) -> dict[str, tuple[str, ...]]:
    """By node the switches above it, the one it is plugged into first. Raises TopologyError, OSError."""
    with path.open("rb") as file:
        raw = file.read(MAX_FILE + 1)
    if len(raw) > MAX_FILE:
        raise TopologyError(f"{path} is larger than {MAX_FILE} bytes: name Slurm's topology.conf")
    try:
        return parse_topology(raw.decode())
    except UnicodeDecodeError:
        raise TopologyError(f"{path} is no text: name Slurm's topology.conf") from None
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from None


def parse_topology(text: str) -> dict[str, tuple[str, ...]]:
    """The same of the file's text. Raises TopologyError."""
    nodes: dict[str, str] = {}  # node -> its switch
    above: dict[str, str] = {}  # switch -> the switch above it
    switches: dict[str, int] = {}  # switch -> the line that describes it
    for number, words in _lines(text):
        name = words["switchname"]
        if name in switches:
            raise TopologyError(f"line {number}: switch {name} is described in line {switches[name]}: keep one")
        switches[name] = number
        if len(switches) > MAX_SWITCHES:
            raise TopologyError(f"line {number}: there are more than {MAX_SWITCHES} switches")
        _plug_in(nodes, words.get("nodes", ""), name, number, "node")
        _plug_in(above, words.get("switches", ""), name, number, "switch")
    missing = sorted(above.keys() - switches.keys())
    if missing:
        line = switches[above[missing[0]]]
        raise TopologyError(f"line {line}: switch {missing[0]} is described nowhere: add SwitchName={missing[0]}")
    paths = {switch: _path(switch, above) for switch in switches}
    return {node: paths[switch] for node, switch in nodes.items()}


def _lines(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines that say something, by number, as {word in small letters: value}. A backslash joins lines."""
    pending, begin = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = pending + raw.partition("#")[0].strip()
        begin = begin or number
        if line.endswith("\\"):
            pending = line[:-1] + " "
            continue
        pending, at, begin = "", begin, 0
        if line:
            yield at, _words(line, at)


def _words(line: str, number: int) -> dict[str, str]:
    words: dict[str, str] = {}
    for word in line.split():
        match = _WORD.fullmatch(word)
        key = match[1].lower() if match else ""
        if match is None or key not in {"switchname", "nodes", "switches"} | _OPTIONAL or key in words:
            raise TopologyError(
                f"line {number}: {_shown(word)} is not understood: write SwitchName=NAME Nodes=LIST (or Switches=LIST)"
            )
        words[key] = match[2]
    name = words.get("switchname", "")
    if not name or len(name) > MAX_NAME or not name.isprintable() or "[" in name:
        raise TopologyError(f"line {number}: a line begins with SwitchName= and the name of one switch")
    if not (words.get("nodes") or words.get("switches")):
        raise TopologyError(f"line {number}: switch {_shown(name)} has neither Nodes= nor Switches=")
    return words


def _plug_in(below: dict[str, str], hosts: str, switch: str, number: int, what: str) -> None:
    """Note what is plugged into a switch."""
    try:
        names = expand(hosts)
    except ValueError as error:
        raise TopologyError(f"line {number}: {error}") from None
    for name in names:
        if len(name) > MAX_NAME:
            raise TopologyError(f"line {number}: a name is longer than {MAX_NAME} characters")
        if below.setdefault(name, switch) != switch:
            raise TopologyError(
                f"line {number}: {what} {name} is plugged into {below[name]} and {switch}: keep one of the two"
            )
    if len(below) > MAX_HOSTS:
        raise TopologyError(f"line {number}: there are more than {MAX_HOSTS} nodes")


def _path(switch: str, above: Mapping[str, str]) -> tuple[str, ...]:
    """A switch and those above it. Raises TopologyError for a circle, or more levels than any tree has."""
    path = [switch]
    while path[-1] in above:
        path.append(above[path[-1]])
        if path[-1] in path[:-1]:
            raise TopologyError(f"switch {path[-1]} is above itself: a tree of switches has a top")
        if len(path) > MAX_LEVELS:
            raise TopologyError(f"switch {switch} has more than {MAX_LEVELS} levels above it")
    return tuple(path)


def _shown(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:60])
