"""The worked example of docs/format.md is decoded and says what the page says."""

import re
import zlib
from pathlib import Path

import numpy as np

from crosswind.profile import layout, store, write_profile
from crosswind.profile.records import read_slices
from support.profiles import make_profile
from support.spools import crc32c

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "format.md").read_text()
SLICE_NS = 4_000_000_000


def example():
    return bytes.fromhex(re.search(r"```hex\n(.*?)```", PAGE, re.DOTALL).group(1))


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


def test_the_table_beside_it_shows_the_same_bytes():
    table = PAGE[PAGE.index("| bytes | as |") :].split("\n\n", 1)[0]
    cells = [line.split("|")[1] for line in table.split("\n")[2:]]
    assert bytes.fromhex(" ".join(cells).replace("`", "")) == example()
    assert f"`{crc32c(example()[8:]):08x}`" in table


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
