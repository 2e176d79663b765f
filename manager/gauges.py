"""What the daemon shows about its state at the moment somebody asks, without keeping any of it twice."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from manager.daemon import Daemon


class DaemonGauges(Collector):
    """Reads the daemon when it is collected."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon

    def collect(self) -> Iterator[Metric]:
        """Yield the families of `turnstile_*`."""
        daemon = self._daemon
        leader = GaugeMetricFamily("turnstile_leader", "1 while this instance may act, 0 while it stands by.")
        leader.add_metric([], float(daemon.may_act))
        yield leader
        queue = GaugeMetricFamily("turnstile_queue_depth", "Workloads that wait for a look.")
        queue.add_metric([], float(len(daemon.workloads)))
        yield queue
        actions = GaugeMetricFamily("turnstile_actions_in_flight", "Actions on workers that are on their way.")
        actions.add_metric([], float(daemon.lanes.in_flight))
        yield actions
        connected = GaugeMetricFamily(
            "turnstile_worker_connected", "1 while a worker's caches are complete and followed.", labels=["cluster"]
        )
        skew = GaugeMetricFamily(
            "turnstile_worker_clock_skew_seconds", "How far a worker's clock runs ahead of ours.", labels=["cluster"]
        )
        for name, link in sorted(daemon.fleet.links.items()):
            connected.add_metric([name], float(link.is_connected))
            skew.add_metric([name], link.clock_skew_ns / 1e9)
        yield connected
        yield skew
