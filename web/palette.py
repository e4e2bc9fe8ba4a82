"""Colours of the plots: Okabe and Ito's set, which people with any colour vision tell apart, light and dark.

Series differ by dash too, so that nothing rests on colour alone. The style sheet has the same hues for the rest of the
page.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DASHES", "THEMES", "Theme"]

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True)
class Theme:
    """series: the job's own lines, in order. others: lines of all other jobs. hit: shading of what was lost.

    background: that of the card the plots lie on; solid, because plotly.js draws its spike line's halo in it.
    """

    series: tuple[str, ...]
    others: tuple[str, ...]
    hit: str
    text: str
    grid: str
    line: str
    crosshair: str
    background: str


THEMES = {
    "light": Theme(
        series=("#0072B2", "#009E73", "#CC79A7", "#56B4E9", "#8A6D00", "#5B5B5B"),
        others=("#D55E00", "#9A4FA3", "#8A6D00", "#5B5B5B"),
        hit="#E69F00",
        text="#42505C",
        grid="#E6EAED",
        line="#B8C2CA",
        crosshair="#1B242B",
        background="#FFFFFF",
    ),
    "dark": Theme(
        series=("#56B4E9", "#2FC79A", "#E29CC4", "#9BD0F5", "#F0E442", "#B5BEC6"),
        others=("#FF8A3D", "#D7A3E0", "#F0E442", "#B5BEC6"),
        hit="#E69F00",
        text="#AAB6C0",
        grid="#29323A",
        line="#46525C",
        crosshair="#E8EEF2",
        background="#1A2126",
    ),
}
