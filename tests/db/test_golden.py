"""Databases of every released schema are brought up to date, and hold what was found in them when they were made."""

import importlib.util
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from sqlalchemy import MetaData, Table, create_engine, insert, inspect, select, text

from crosswind.db import connection, load_profile, node_queries, open_database, partitions, reading, schema
from crosswind.db.codec import encode_ints
from crosswind.db.connection import VERSION_TABLE, writing
from support.profiles import SLICE_NS

GOLDEN = Path(__file__).parents[1] / "golden" / "db"
REVISIONS = sorted(path.stem for path in GOLDEN.glob("*.sqlite"))
_spec = importlib.util.spec_from_file_location("add_revision", GOLDEN / "add_revision.py")
add_revision = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(add_revision)


@pytest.fixture(params=REVISIONS)
def revision(request):
    return request.param


@pytest.fixture
def upgraded(revision, url):
    """An engine on a golden database, brought up to date by opening it."""
    if url.startswith("sqlite"):
        shutil.copyfile(GOLDEN / f"{revision}.sqlite", url.removeprefix("sqlite:///"))
    else:
        _copy_to_postgresql(revision, url)
    engine = open_database(url, create=False)
    yield engine
    engine.dispose()


def expected(revision):
    return json.loads((GOLDEN / f"{revision}.expected.json").read_text())


def found(engine):
    with reading(engine) as conn:
        return json.loads(json.dumps(add_revision.findings(conn)))


def test_there_is_one_of_every_released_schema():
    """The newest need not be there while it is being made: add_revision.py is run before a release."""
    script = connection._script()
    known = sorted(step.revision for step in script.walk_revisions())
    assert set(known[:-1]) <= set(REVISIONS) <= set(known)


def test_everything_is_still_found(revision, upgraded):
    assert found(upgraded) == expected(revision)


def test_nothing_is_broken_inside(upgraded):
    with upgraded.connect() as conn:
        if conn.dialect.name == "sqlite":
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"
            assert conn.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        assert not [name for name in inspect(conn).get_table_names() if "before" in name], "left behind by a migration"


def test_loading_goes_on(revision, upgraded):
    """The same jobs again, as today's code makes them: what was summed up before is taken back exactly."""
    for profile in add_revision.profiles():
        load_profile(upgraded, profile)
    assert found(upgraded)["background"] == expected(revision)["background"]


def test_what_agents_saw_is_kept(url):
    """Slices of nodes moved into partitions: of two weeks, and of before there were any."""
    engine = connection._engine(connection._parse(url))
    weeks = [0, 1_735_689_600_000_000_000, 1_735_689_600_000_000_000 + 8 * 86400 * 10**9]
    with writing(engine) as conn:
        _migrate(conn, "0009")
        metric = {"id": 1, "column_id": 1, "name": "node_cpu", "unit": "ns", "kind": "counter"}
        node = {"key": 1, "cluster": "", "name": "n1", "serves": "", "first_ns": 0, "last_ns": 1}
        for table, rows in (
            ("metric", [metric]),
            ("node", [node]),
            ("node_frame", [_slices(start) for start in weeks]),
        ):
            conn.execute(insert(Table(table, MetaData(), autoload_with=conn)), rows)
    engine.dispose()
    engine = open_database(url, create=False)
    with reading(engine) as conn:
        for start in weeks:
            found = node_queries.get_node_series(conn, 1, None, start // SLICE_NS, schema.BLOCK, SLICE_NS)
            assert found["node_cpu", ""].tolist() == list(range(schema.BLOCK))
        kept = {partition.name for partition in partitions.list_partitions(conn, "node_frame")}
    engine.dispose()
    assert kept == (
        set() if url.startswith("sqlite") else {f"node_frame_{name}" for name in ("past", "20241230", "20250106")}
    )


def _slices(start_ns):
    """The row of a block of a node."""
    data = encode_ints(np.arange(schema.BLOCK).reshape(1, -1))
    return {"node_key": 1, "start_ns": start_ns, "slice_ns": SLICE_NS, "metric_id": 1, "instances": [""], "data": data}


def _migrate(conn, revision):
    config = connection._alembic()
    config.attributes["connection"] = conn
    command.upgrade(config, revision)


def _copy_to_postgresql(revision, url):
    """The tables of that time, made by the migrations up to it, with the rows of the golden file."""
    engine = connection._engine(connection._parse(url))
    golden = create_engine("sqlite://", creator=lambda: sqlite3.connect(GOLDEN / f"{revision}.sqlite"))
    with writing(engine) as conn:
        _migrate(conn, revision)
    with golden.connect() as source:
        for table in partitions.WIDTHS_NS if revision >= "0006" else ():
            starts = source.execute(text(f"SELECT start_ns FROM {table}")).scalars()
            partitions.make_partitions(engine, table, list(starts))
        with writing(engine) as conn:
            _copy_rows(source, conn)
    engine.dispose()
    golden.dispose()


def _copy_rows(source, conn):
    tables = MetaData()
    tables.reflect(conn, only=lambda name, _: name in inspect(source).get_table_names() and name != VERSION_TABLE)
    for table in tables.sorted_tables:
        held = Table(table.name, MetaData(), *(type(c)(c.name, c.type.as_generic()) for c in table.c))
        rows = [row._asdict() for row in source.execute(select(held))]
        if rows:
            conn.execute(insert(table), rows)
    for table, key in (("job", "key"), ("metric", "id"), ("resource", "id")):
        conn.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'), max({key})) FROM {table}"))
