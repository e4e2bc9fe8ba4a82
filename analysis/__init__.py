"""Analysis: pure functions on arrays. No database, no web, no command line.

Interference: `interference` is the front, one file a method, `docs/estimator.md` the maths. Time lines: `timeline` and
`derived`, with `units` for people.
"""

from crosswind.analysis.cluster_view import ClusterView, cluster_view
from crosswind.analysis.comparison import compare
from crosswind.analysis.comparison_result import Comparison
from crosswind.analysis.derived import SERIES, Reduction, Series, available, job_series, process_series, series_named
from crosswind.analysis.errors import InputError
from crosswind.analysis.interference import DEFAULT_METHOD, METHODS, estimate, estimate_profile
from crosswind.analysis.lost_kinds import KINDS, lost_by_kind
from crosswind.analysis.lost_time import lost_per_slice
from crosswind.analysis.result import Caution, ClusterStatistics, Detection, Estimate
from crosswind.analysis.units import DisplayUnit, display_unit
from crosswind.analysis.untrusted import UntrustedIntervals, untrusted_intervals
from crosswind.analysis.verdict import accuracy, interference_class, probability

__all__ = [
    "DEFAULT_METHOD",
    "KINDS",
    "METHODS",
    "SERIES",
    "Caution",
    "ClusterStatistics",
    "ClusterView",
    "Comparison",
    "Detection",
    "DisplayUnit",
    "Estimate",
    "InputError",
    "Reduction",
    "Series",
    "UntrustedIntervals",
    "accuracy",
    "available",
    "cluster_view",
    "compare",
    "display_unit",
    "estimate",
    "estimate_profile",
    "interference_class",
    "job_series",
    "lost_by_kind",
    "lost_per_slice",
    "probability",
    "process_series",
    "series_named",
    "untrusted_intervals",
]
