"""The segment CSV: an interface for other programs."""

import time

import numpy as np
import pytest

from crosswind.profile import FormatError, read_csv, write_csv
from crosswind.profile.segments import CSV_COLUMNS
from support.profiles import make_profile, make_segments


def test_round_trip_with_a_rank_that_died(tmp_path):
    table = make_segments(3, 50, 1_760_000_000_000_000, 20.0, {7: 55.5})
    table.valid[1, 30:] = False
    for name, column in table.columns.items():
        column[1, 30:] = 0 if name == "sig" else np.nan
    write_csv(table, tmp_path / "s.csv")
    again = read_csv(tmp_path / "s.csv")
    assert list(again.columns) == list(table.columns)
    for name, column in table.columns.items():
        assert column.dtype == again.columns[name].dtype
        np.testing.assert_array_equal(again.columns[name], column)
    np.testing.assert_array_equal(again.valid, table.valid)
    assert (tmp_path / "s.csv").read_text().split("\n")[0] == ",".join(CSV_COLUMNS)


def test_columns_may_be_absent_in_any_order_and_foreign(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("dur_us,note,rank,seg,comp_us\n2.5,1,0,4,1\n\n3.5,1,1,4,2\n1e3,1,0,6,3\r\n")
    table = read_csv(path)
    assert list(table.columns) == ["dur_us", "comp_us"]
    assert (table.index.tolist(), table.ranks.tolist()) == ([4, 6], [0, 1])
    np.testing.assert_array_equal(table.columns["dur_us"], [[2.5, 1000], [3.5, np.nan]])
    assert table.valid.tolist() == [[True, True], [True, False]]
    assert not table.has("instructions")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: is no segment CSV, it has no column seg, rank, dur_us"),
        ("seg,rank\n1,2\n", "no column dur_us"),
        ("seg,rank,dur_us\n", "has no rows"),
        ("seg,rank,dur_us,dur_us\n1,1,1,1\n", "line 1: names a column twice: dur_us"),
        ("seg,rank,dur_us\n0,0,1\n0,1,x\n", "line 3: dur_us is 'x', not a number"),
        ("seg,rank,dur_us\n0,0,1\n\n0,1\n", "line 4: has 2 values, the header names 3 columns"),
        ("seg,rank,dur_us\n0,0,1\n\n0,1,nan\n", "line 4: dur_us is not a finite number"),
        ("seg,rank,dur_us\n0,0,inf\n", "line 2: dur_us is not a finite number"),
        ("seg,rank,dur_us\n0,0,1\n1,0,1\n\n0,0,2\n", "line 5: seg 0 of rank 0 is there twice: see line 2"),
        ("seg,rank,dur_us\n0.5,0,1\n", "line 2: seg is 0.5, not a whole number"),
        ("seg,rank,dur_us\n-1,0,1\n", "line 2: seg is -1, not a whole number"),
        ("seg,rank,dur_us\n0,1e300,1\n", "line 2: rank is 1e[+]300, not a whole number"),
        ("seg,rank,dur_us\n0,0,1\n1,0,-1\n", "line 3: dur_us is -1, negative"),
        ("seg,rank,dur_us,io_us\n0,0,1,0\n1,0,1,-0.5\n2,0,-3,0\n", "line 3: io_us is -0.5, negative"),
        ("seg,rank,dur_us,p2p_bytes\n0,0,1,1e300\n", "line 2: p2p_bytes is 1e[+]300, too large"),
        ("seg,rank,dur_us,sig\n0,0,1,1.5\n", "line 2: sig is 1.5, not a whole number from 0"),
        ("seg,rank,dur_us,stride\n0,0,1,0\n", "line 2: stride is 0, not a whole number from 1"),
        ("seg,rank,dur_us,stride\n0,0,1,2\n0,1,1,3\n", "line 3: stride of seg 0 is 3 on rank 1, 2 before"),
        (
            "seg,rank,dur_us\n0,0,1\n0,3,1\n1,0,1\n2,0,1\n2,3,1\n",
            "line 6: rank 3 has seg 2, but lacks seg 1, which other ranks have",
        ),
        ("seg,rank,dur_us\n7,0,1\n8,0,1\n8,1,1\n", "line 4: rank 1 has seg 8, but lacks seg 7"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"bad\.csv: .*{message}") as caught:
        read_csv(path)
    assert "\n" not in str(caught.value)


def test_a_rank_that_ended_early_is_no_fault(tmp_path):
    path = tmp_path / "early.csv"
    path.write_text("seg,rank,dur_us\n" + "".join(f"{i},{r},1\n" for i in range(9) for r in range(3) if r < 2 or i < 5))
    table = read_csv(path)
    assert table.valid.sum(axis=1).tolist() == [9, 9, 5]


def test_a_sparse_table_cannot_eat_the_memory(tmp_path):
    """Whole numbers without any sense: the first row that does not fit is named, and no table is made for them."""
    path = tmp_path / "sparse.csv"
    path.write_text("seg,rank,dur_us\n" + "".join(f"{i},{i},1\n" for i in range(20_000)))
    with pytest.raises(FormatError, match="line 3: rank 1 has seg 1, but lacks seg 0, which other ranks have"):
        read_csv(path)


def test_early_ends_cannot_eat_the_memory(tmp_path):
    path = tmp_path / "early.csv"
    rows = [f"{i},0,1\n" for i in range(20_000)] + [f"0,{i},1\n" for i in range(1, 20_000)]
    path.write_text("seg,rank,dur_us\n" + "".join(rows))
    with pytest.raises(FormatError, match="20000 ranks and 20000 segments are too much for one table"):
        read_csv(path)


N_ROWS = 1_000_000


def _good() -> bytes:
    return b"".join(b"%d,0,1.5\n" % i for i in range(N_ROWS - 1))


def _bytes() -> bytes:
    rubbish = np.random.default_rng(1).bytes(20 * N_ROWS)
    return rubbish.replace(b"\n", b"x").replace(b"\r", b"x").replace(b"xx", b"\n")


def _numbers() -> bytes:
    numbers = np.random.default_rng(1).integers(0, 2**40, size=(N_ROWS, 3))
    return b"".join(b"%d,%d,%d\n" % tuple(row) for row in numbers.tolist())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(_bytes, "line 2: has ", id="bytes"),
        pytest.param(lambda: b"ab,cd,ef\n" * N_ROWS, "line 2: seg is 'ab', not a number", id="words"),
        pytest.param(_numbers, "which other ranks have", id="numbers"),
        pytest.param(lambda: _good() + b"1,0,x\n", f"line {N_ROWS + 1}: dur_us is 'x', not a number", id="last row"),
        pytest.param(lambda: _good() + b"2000000,0,-1\n", f"line {N_ROWS + 1}: dur_us is -1, negative", id="negative"),
        pytest.param(
            lambda: _good() + b"17,0,1\n",
            f"line {N_ROWS + 1}: seg 17 of rank 0 is there twice: see line 19",
            id="twice",
        ),
        pytest.param(lambda: b"1," * N_ROWS, "line 2: has 1000001 values, the header names 3 columns", id="one line"),
        pytest.param(lambda: b"\n" * N_ROWS, "has no rows", id="nothing"),
    ],
)
def test_a_million_rows_of_garbage_are_answered_in_seconds(tmp_path, body, message):
    path = tmp_path / "garbage.csv"
    path.write_bytes(b"seg,rank,dur_us\n" + body())
    begin = time.process_time()
    with pytest.raises(FormatError) as caught:
        read_csv(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - begin < 10


def test_merged_segments_keep_their_number_and_how_many_they_are(tmp_path):
    table = make_profile(n_segments=4).segments
    table.index[:] = [0, 2, 6, 7]
    table.stride[:] = [2, 4, 1, 1]
    write_csv(table, tmp_path / "s.csv")
    again = read_csv(tmp_path / "s.csv")
    assert (again.index.tolist(), again.stride.tolist()) == ([0, 2, 6, 7], [2, 4, 1, 1])


def test_segments_that_call_sites_cut_keep_their_mark(tmp_path):
    table = make_profile(n_segments=4).segments
    table.from_call_sites[1:3] = True
    write_csv(table, tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_text().split("\n")[0].endswith(",sig,at_site")
    again = read_csv(tmp_path / "s.csv")
    assert again.from_call_sites.tolist() == [False, True, True, False]


def test_a_segment_that_a_rank_lost_is_left_out_for_all(tmp_path):
    table = make_segments(3, 10, 1_760_000_000_000_000, 20.0, {})
    table.valid[1, [0, 4]] = False
    table.valid[2, 8:] = False
    assert write_csv(table, tmp_path / "s.csv") == 2
    again = read_csv(tmp_path / "s.csv")
    assert again.index.tolist() == [1, 2, 3, 5, 6, 7, 8, 9]
    assert again.valid.sum(axis=1).tolist() == [8, 8, 6]
