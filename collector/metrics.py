"""`/metrics` in Prometheus form, when asked for: needs the package prometheus-client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from crosswind.collector.counts import Counts, Distribution

__all__ = ["serve_metrics"]

_PREFIX = "crosswind_collector"


def serve_metrics(counts: Counts, port: int, address: str) -> Callable[[], None]:
    """Serve the counts until the returned function is called. Raises OSError when the address is taken."""
    registry = CollectorRegistry()
    registry.register(_Exposition(counts))
    server, thread = start_http_server(port, addr=address, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop


class _Exposition(Collector):
    """Turns the counts into metrics at the moment they are asked for."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def collect(self) -> Iterator[Metric]:
        """All metrics."""
        c = self.counts
        yield _counter("looks", "Looks at the spool directories.", c.looks)
        yield _counters("loaded_steps", "Job steps loaded; running ones once per refresh.", "kind", c.steps)
        yield _counter("loaded_slices", "Process slices of finished job steps that were loaded.", c.slices)
        yield _counters("refused_files", "Files that were not loaded, by kind of reason.", "reason", c.refused)
        yield _counters("errors", "What failed and is tried again.", "what", c.errors)
        yield _counter("recovered_files", "Files put back that a collector which died had taken.", c.recovered)
        yield _counter("lost_steps", "Running steps ended since nobody heard of them any more.", c.lost)
        yield _gauge("followed_files", "Spool files that are followed.", c.files)
        yield _gauge("waiting_files", "Spool files beyond their users' quotas.", c.waiting)
        yield _gauge("running_steps", "Job steps of which a process may still run.", c.running)
        yield _gauge("last_look_timestamp_seconds", "When the last look ended.", c.last_look_s)
        yield _histogram("lag_seconds", "From the end of a running step's newest slice to the database.", c.lag)
        yield _histogram("look_duration_seconds", "How long a look took.", c.look)


def _counter(name: str, help_text: str, value: float) -> Metric:
    return CounterMetricFamily(f"{_PREFIX}_{name}", help_text, value=value)


def _counters(name: str, help_text: str, label: str, values: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(f"{_PREFIX}_{name}", help_text, labels=[label])
    for key, value in dict(values).items():
        family.add_metric([key], value)
    return family


def _gauge(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"{_PREFIX}_{name}", help_text, value=value)


def _histogram(name: str, help_text: str, values: Distribution) -> Metric:
    counts = values.counts or [0] * (len(values.bounds) + 1)
    bounds = [*(f"{bound:g}" for bound in values.bounds), "+Inf"]
    buckets = list(zip(bounds, itertools.accumulate(counts), strict=True))
    return HistogramMetricFamily(f"{_PREFIX}_{name}", help_text, buckets=buckets, sum_value=values.total)
