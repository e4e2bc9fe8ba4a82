"""The segment CSV: an interface for other programs."""

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
        ("seg,rank,dur_us,dur_us\n1,1,1,1\n", "names a column twice"),
        ("seg,rank,dur_us\n0,0,1\n0,1,x\n", "line 3: dur_us is 'x', not a number"),
        ("seg,rank,dur_us\n0,0,1\n\n0,1\n", "line 4: has 2 values, the header names 3 columns"),
        ("seg,rank,dur_us\n0,0,1\n\n0,1,nan\n", "line 4: dur_us is not a finite number"),
        ("seg,rank,dur_us\n0,0,inf\n", "line 2: dur_us is not a finite number"),
        ("seg,rank,dur_us\n0,0,1\n0,0,2\n", "segment 0 of rank 0 is there twice"),
        ("seg,rank,dur_us\n0.5,0,1\n", "seg 0.5 is not a whole number"),
        ("seg,rank,dur_us\n-1,0,1\n", "seg -1 is not a whole number"),
        ("seg,rank,dur_us\n0,1e300,1\n", "rank 1e[+]300 is not a whole number"),
        ("seg,rank,dur_us\n0,0,1\n1,0,-1\n", "dur_us of segment 1, rank 0 is negative"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=rf"bad\.csv: .*{message}") as caught:
        read_csv(path)
    assert "\n" not in str(caught.value)


def test_a_sparse_table_cannot_eat_the_memory(tmp_path):
    path = tmp_path / "sparse.csv"
    path.write_text("seg,rank,dur_us\n" + "".join(f"{i},{i},1\n" for i in range(20_000)))
    with pytest.raises(FormatError, match="too much for one table"):
        read_csv(path)


def test_merged_segments_keep_their_number(tmp_path):
    table = make_profile(n_segments=4).segments
    table.index[:] = [0, 2, 4, 6]
    table.stride[:] = 2
    write_csv(table, tmp_path / "s.csv")
    assert read_csv(tmp_path / "s.csv").index.tolist() == [0, 2, 4, 6]
