"""A boot of a node is one event, whoever says it, however often and at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from crosswind.db import reading
from crosswind.db.events import events_between, note_boot

BOOT = "00000001-0000-4000-8000-000000000000"
SECOND = 10**9


def test_many_who_say_it_at_once_make_one_event(engine):
    """Each has another time of it, right to a second or two."""
    together = Barrier(8)

    def note(number):
        together.wait(30)
        return note_boot(engine, "n1", BOOT, (1000 + number) * SECOND)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(note, range(8))) == [False] * 7 + [True]
    assert not note_boot(engine, "n1", BOOT, 2000 * SECOND)
    with reading(engine) as conn:
        (event,) = events_between(conn, 0, 1 << 62)
    assert (event.kind, event.place, event.note) == ("reboot", "n1", f"boot {BOOT}")


def test_boots_of_other_nodes_and_clusters_are_others(engine):
    assert note_boot(engine, "n1", BOOT, SECOND)
    assert note_boot(engine, "n2", BOOT, SECOND)
    assert note_boot(engine, "n1", BOOT, SECOND, cluster="red")
    assert note_boot(engine, "n1", BOOT.replace("1", "2"), SECOND + 1)
    with reading(engine) as conn:
        assert len(events_between(conn, 0, 1 << 62)) == 4
