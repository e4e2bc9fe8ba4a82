"""The worked example of docs/format.md is decoded and says what the page says."""

import re
import zlib
from pathlib import Path

import numpy as np

from crosswind.profile import layout, store, write_profile
from crosswind.profile.metrics import SEGMENT_FIELDS
from crosswind.profile.records import read_slices
from crosswind.profile.segment_blocks import read_block_chunk
from support.profiles import make_profile
from support.spools import crc32c, record

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "format.md").read_text()
SLICE_NS = 4_000_000_000


def example(number=0):
    return bytes.fromhex(re.findall(r"```hex\n(.*?)```", PAGE, re.DOTALL)[number])


def shown_bytes(number):
    """What the first column of the table below an example holds."""
    table = PAGE.split("| bytes | as |")[number + 1].split("\n\n", 1)[0]
    cells = [line.split("|")[1] for line in table.split("\n")[2:]]
    return bytes.fromhex(" ".join(cells).replace("`", ""))


def test_the_example_is_a_slice_record():
    log, problems = read_slices([example() + bytes(8)], n_columns=125, slice_ns=SLICE_NS)
    assert problems == []
    assert (log.index.tolist(), log.flags.tolist()) == ([440_000_000], [0])
    assert (log.begin_ns - 440_000_000 * SLICE_NS).tolist() == [85_000]
    assert (log.end_ns - 440_000_001 * SLICE_NS).tolist() == [92_000]
    assert (log.offset_ns.tolist(), log.max_error_us.tolist(), log.cost_ns.tolist()) == ([-1500], [800], [9000])
    pairs = list(zip(log.column.tolist(), log.value.tolist(), strict=True))
    assert pairs == [(0, 300), (1, 65536), (124, 3_990_000_000)]
    assert np.datetime64(440_000_000 * SLICE_NS, "ns").astype("datetime64[s]").item().isoformat() + "Z" in PAGE


def test_the_tables_beside_the_examples_show_the_same_bytes():
    assert shown_bytes(0) == example(0)
    assert shown_bytes(1) == example(1)
    assert f"`{crc32c(example()[8:]):08x}`" in PAGE


def test_the_second_example_is_a_block_of_segments():
    names, units = [f[0] for f in SEGMENT_FIELDS], [f[1] for f in SEGMENT_FIELDS]
    log, problems = read_block_chunk(record(example(1)) + bytes(8), units, names, n_functions=5, most_rows=100)
    assert problems == []
    assert (log.begin >> 31).tolist() == [1000, 1001, 1002]
    assert (log.end >> 31).tolist() == [1001, 1002, 1003]
    assert log.function.tolist() == [4, 4, 3]
    assert log.signature.tolist() == [0xC0FFEE, 0xC0FFEE, 0xBEEF]
    value = {name: log.values[:, i].tolist() for i, name in enumerate(names)}
    written = {
        "duration": [2_600_000, 2_668_000, 9_600_000],
        "p2p_time": [200_000, 210_000, 205_000],
        "coll_time": [100_000, 120_000, 800_000],
        "cpu_time": [1_149_000, 1_168_000, 4_290_000],
    }
    for name, exact in written.items():
        np.testing.assert_allclose(value[name], exact, rtol=0.004)
    assert (value["p2p_time"][0], value["cpu_time"][0]) == (199_680, 1_148_928)
    assert (value["p2p_calls"], value["p2p_bytes"]) == ([24] * 3, [40_000] * 3)
    assert (value["coll_calls"], value["coll_bytes"]) == ([1, 1, 2], [48, 48, 96])
    assert log.begin_tick.tolist() == [
        5 * 10**9,
        5 * 10**9 + value["duration"][0],
        5 * 10**9 + sum(value["duration"][:2]),
    ]


def test_numbers_of_the_page():
    assert f"`{crc32c(b'123456789'):08x}`" in PAGE
    assert store.MAGIC.hex(" ") in PAGE
    for magic in (layout.MAGIC, layout.SHORT_MAGIC):
        assert magic.decode().replace("\0", "\\0") in PAGE


def test_a_profile_is_laid_out_as_drawn(tmp_path):
    write_profile(make_profile(n_segments=3), tmp_path / "p.xwp")
    data = (tmp_path / "p.xwp").read_bytes()
    length = int.from_bytes(data[12:16], "little")
    assert data[:8].hex(" ") in PAGE
    assert int.from_bytes(data[16:20], "little") == zlib.crc32(data[24 : 24 + length])
    for name in re.findall(r'"name":"([a-z_.]+)[/"]', data[24 : 24 + length].decode().split('"sections"')[1]):
        assert f"`{name}" in PAGE or f"`.{name.partition('.')[2]}`" in PAGE, f"section {name} is not in docs/format.md"
