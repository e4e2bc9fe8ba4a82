"""HTML reports: one file, complete, drawn without a complaint, and no place for a hostile name to become markup."""

import pytest

from crosswind.profile import write_profile
from support.browser import chromium
from support.profiles import make_lammps

SLOW = {i: 40.0 for i in range(500, 560)}


@pytest.fixture
def reports(crosswind, tmp_path):
    write_profile(make_lammps(slow_segments=SLOW), tmp_path / "<img src=x onerror=alert(1)>.xwp")
    write_profile(make_lammps(), tmp_path / "quiet.xwp")
    (hostile,) = tmp_path.glob("<*")
    one = crosswind("estimate", hostile, "--html", "one.html")
    both = crosswind("compare", hostile, "quiet.xwp", "--html", "both.html")
    assert (one.returncode, both.returncode) == (0, 0), one.stderr + both.stderr
    return tmp_path / "one.html", tmp_path / "both.html"


def test_a_name_is_text_and_nothing_is_fetched(reports):
    for report in reports:
        text = report.read_text().partition("</script>")
        page = text[0].partition("<script>")[0] + text[2]
        assert "<img" not in page
        assert "&lt;img" in page
        assert "src=" not in page.replace("&lt;img src=x", "")


@pytest.mark.browser
def test_it_draws(reports):
    with chromium() as browser:
        for report, pictures in zip(reports, (5, 1), strict=True):
            complaints = []
            page = browser.new_page()
            page.on("pageerror", lambda error, complaints=complaints: complaints.append(str(error)))
            page.goto(report.as_uri())
            page.wait_for_function(f"document.querySelectorAll('.main-svg').length >= {pictures}")
            assert complaints == []
            assert page.locator(".plotly-graph-div").count() == pictures


@pytest.mark.parametrize("durations", [[0.3, 0.1 + 0.2], [9e18, 9e18], [0.0, 0.0], [4e16, 4e16]])
def test_durations_that_no_histogram_can_part(crosswind, tmp_path, durations):
    rows = [f"{i},0,{i},{durations[i % 2]!r}\n" for i in range(50)]
    (tmp_path / "equal.csv").write_text("seg,rank,t_start_us,dur_us\n" + "".join(rows))
    result = crosswind("estimate", "equal.csv", "--html", "equal.html")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_file_without_segments_has_no_report(crosswind, tmp_path):
    from support.profiles import make_profile

    write_profile(make_profile(mpi="", n_segments=0), tmp_path / "w.xwp")
    result = crosswind("estimate", "w.xwp", "--html", "w.html")
    assert result.returncode == 1
    assert "nothing to draw" in result.stderr
    assert not (tmp_path / "w.html").exists()
