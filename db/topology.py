"""Where nodes are plugged in, and where a job was when it was first loaded.

A site gives the tree of its switches; each version of it is kept for ever, and a job remembers the version and the
partition it was loaded under (job.topology_id, job.partition). So what it added to the background of a switch can be
taken back exactly, also after nodes moved.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Row, insert, select

from crosswind.db import schema
from crosswind.db.batch import run_of_step
from crosswind.db.batch_schema import batch_job
from crosswind.db.connection import writing
from crosswind.db.limits import check_text
from crosswind.db.names import batches
from crosswind.db.resources import NOWHERE, Place, Placement

__all__ = [
    "TopologyRow", "held_placement", "latest_topology", "new_placement", "paths_of_jobs",
    "place_of_job", "store_topology", "switch_paths",
]  # fmt: skip


@dataclass(frozen=True)
class TopologyRow:
    """One version of a cluster's topology. since_ns: when it was given, UTC."""

    id: int
    cluster: str
    since_ns: int
    digest: str


def store_topology(engine: Engine, paths: Mapping[str, Sequence[str]], *, cluster: str = "") -> bool:
    """Store a topology; whether it is another than the newest. Jobs loaded from now on are placed by it.

    paths: by host the switches above it, the one it is plugged into first. Raises RefusedProfile for text that a
    database cannot hold.
    """
    for text in {cluster, *paths, *(switch for path in paths.values() for switch in path)}:
        check_text(text)
    document = json.dumps({host: list(path) for host, path in sorted(paths.items())})
    digest = hashlib.blake2b(document.encode(), digest_size=16).hexdigest()
    with writing(engine) as conn:
        newest = latest_topology(conn, cluster)
        if newest is not None and newest.digest == digest:
            return False
        new = insert(schema.topology).values(cluster=cluster, since_ns=time.time_ns(), digest=digest)
        number = conn.execute(new.returning(schema.topology.c.id)).scalar_one()
        for hosts in batches(sorted(paths)):
            rows = [{"topology_id": number, "host": host, "switches": list(paths[host])} for host in hosts]
            conn.execute(insert(schema.topology_host), rows)
    return True


def latest_topology(conn: Connection, cluster: str) -> TopologyRow | None:
    """The newest version, or None where none was ever given."""
    t = schema.topology.c
    query = select(*(t[name] for name in TopologyRow.__dataclass_fields__)).where(t.cluster == cluster)
    row = conn.execute(query.order_by(t.id.desc()).limit(1)).one_or_none()
    return None if row is None else TopologyRow(*row)


def switch_paths(conn: Connection, topology_id: int | None, hosts: Collection[str]) -> dict[str, tuple[str, ...]]:
    """By host the switches above it, the one it is plugged into first; hosts that the version does not know are left
    out.
    """
    if topology_id is None:
        return {}
    h = schema.topology_host.c
    found: dict[str, tuple[str, ...]] = {}
    for part in batches(sorted(set(hosts))):
        query = select(h.host, h.switches).where(h.topology_id == topology_id, h.host.in_(part))
        found |= {row.host: tuple(row.switches) for row in conn.execute(query)}
    return found


def new_placement(conn: Connection, cluster: str, identity: tuple[str, str, int], hosts: Collection[str]) -> Placement:
    """Where a job step is by what is known now, or, where it is loaded already, was known then. identity: job id, step
    and uid.
    """
    job_id, step, uid = identity
    j = schema.job.c
    same = (j.cluster == cluster, j.job_id == job_id, j.step == step, j.uid == uid)
    held = conn.execute(select(j.topology_id, j.partition).where(*same)).one_or_none()
    if held is not None:
        return held_placement(conn, held.topology_id, held.partition, hosts)
    topology = latest_topology(conn, cluster)
    return held_placement(conn, None if topology is None else topology.id, _partition(conn, cluster, identity), hosts)


def held_placement(conn: Connection, topology_id: int | None, partition: str, hosts: Collection[str]) -> Placement:
    """Where a job with processes on these hosts is, by what its row says."""
    paths = switch_paths(conn, topology_id, hosts)
    return Placement(topology_id, Place({host: path[0] for host, path in paths.items() if path}, partition))


def place_of_job(conn: Connection, job_key: int, hosts: Collection[str]) -> Place:
    """Where a job with processes on these hosts is; nowhere if there is no such job."""
    row = _row_of_job(conn, job_key)
    return NOWHERE if row is None else held_placement(conn, row.topology_id, row.partition, hosts).place


def paths_of_jobs(conn: Connection, hosts: Mapping[int, Collection[str]]) -> dict[int, dict[str, tuple[str, ...]]]:
    """By job as switch_paths, by the versions under which the jobs were loaded. hosts: of each job, by its key."""
    j = schema.job.c
    versions: dict[int, int] = {}
    for keys in batches(sorted(hosts)):
        query = select(j.key, j.topology_id).where(j.key.in_(keys), j.topology_id.is_not(None))
        versions |= {row.key: row.topology_id for row in conn.execute(query)}
    known = {
        version: switch_paths(conn, version, {h for key, v in versions.items() if v == version for h in hosts[key]})
        for version in set(versions.values())
    }
    return {
        key: {host: paths[host] for host in some if host in paths}
        for key, some in hosts.items()
        for paths in (known.get(versions.get(key, -1), {}),)
    }


def _row_of_job(conn: Connection, job_key: int) -> Row[Any] | None:
    j = schema.job.c
    return conn.execute(select(j.topology_id, j.partition).where(j.key == job_key)).one_or_none()


def _partition(conn: Connection, cluster: str, identity: tuple[str, str, int]) -> str:
    """The partition that the batch system named; "" where it has not."""
    job_id, step, uid = identity
    b = batch_job.c
    here = (b.cluster == cluster, b.job_id == job_id, b.run == run_of_step(step), b.uid == uid)
    return conn.execute(select(b.partition).where(*here)).scalar_one_or_none() or ""
