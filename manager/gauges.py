"""What the daemon shows about its state at the moment somebody asks, without keeping any of it twice."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gates.reliability import hit_rate
from gates.settings import SECOND
from manager.telemetry import catalogue
from manager.telemetry.families import only
from manager.worker import WorkerLink
from workerclient.cluster import Connection

if TYPE_CHECKING:
    from manager.daemon import Daemon

_REFUSED = "Refused"
_STATUSES = (*Connection, _REFUSED)


class DaemonGauges(Collector):
    """Reads the daemon when it is collected."""

    def __init__(self, daemon: "Daemon") -> None:
        self._daemon = daemon

    def describe(self) -> list[Metric]:
        """Let nobody collect to find out the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families that tell a state."""
        daemon = self._daemon
        workers = sorted(daemon.fleet.names())
        yield only(catalogue.LEADER, daemon.may_act)
        yield only(catalogue.HUB_CONNECTED, daemon.hub.is_connected)
        yield only(catalogue.QUEUE_DEPTH, len(daemon.workloads))
        yield only(catalogue.IN_FLIGHT, daemon.lanes.in_flight)
        yield from self._workers(workers)
        yield from self._gates(workers)
        yield from self._forecasts()

    def _workers(self, workers: list[str]) -> Iterator[Metric]:
        connected, status = catalogue.WORKER_CONNECTED.read(), catalogue.WORKER_STATUS.read()
        lost = catalogue.WORKER_LOST.read()
        now_ns = self._daemon.now_ns()
        for name in workers:
            link = self._daemon.fleet.links.get(name)
            state = _REFUSED if link is None else _status(link)
            connected.add(float(state == Connection.CONNECTED), name)
            for each in _STATUSES:
                status.add(float(each == state), name, each)
            is_away = state in (Connection.LOST, _REFUSED)
            lost.add((now_ns - self._daemon.missing_since(name)) / SECOND if is_away else 0.0, name)
        yield connected.collected
        yield status.collected
        yield lost.collected
        yield from self._links()

    def _links(self) -> Iterator[Metric]:
        age, drops, skew = catalogue.WATCH_AGE.read(), catalogue.WATCH_DROPS.read(), catalogue.CLOCK_SKEW.read()
        left, burst, waiting = (
            catalogue.BUDGET_LEFT.read(),
            catalogue.BUDGET_BURST.read(),
            catalogue.REQUESTS_WAITING.read(),
        )
        for name, link in sorted(self._daemon.fleet.links.items()):
            budget = link.client.budget
            job_drops = sum(jobs.reflector.counts.drops for jobs in link.jobs.values())
            age.add(link.workloads.reflector.silence_seconds, name)
            drops.add(link.workloads.reflector.counts.drops + job_drops, name)
            skew.add(link.clock_skew_ns / SECOND, name)
            left.add(budget.left, name)
            burst.add(budget.burst, name)
            waiting.add(budget.waiting, name)
        for reading in (age, drops, skew, left, burst, waiting):
            yield reading.collected

    def _gates(self, workers: list[str]) -> Iterator[Metric]:
        counts = {name: [0, 0] for name in workers}
        oldest_ns: dict[str, int] = {}
        for gate in self._daemon.watcher.gates():
            if gate.cluster in counts:
                counts[gate.cluster][gate.opened_ns is None] += 1
                if gate.opened_ns is not None:
                    oldest_ns[gate.cluster] = min(gate.opened_ns, oldest_ns.get(gate.cluster, gate.opened_ns))
        opened, waiting = catalogue.GATES_OPEN.read(), catalogue.GATES_WAITING.read()
        oldest, now_ns = catalogue.OLDEST_OPEN.read(), self._daemon.now_ns()
        for name, (open_now, asking) in counts.items():
            opened.add(open_now, name)
            waiting.add(asking, name)
            oldest.add(max(0, now_ns - oldest_ns.get(name, now_ns)) / SECOND, name)
        yield opened.collected
        yield waiting.collected
        yield oldest.collected

    def _forecasts(self) -> Iterator[Metric]:
        forecasts = self._daemon.forecasts
        if forecasts is None:
            return
        available, reliable = catalogue.FORECAST_AVAILABLE.read(), catalogue.FORECAST_RELIABLE.read()
        hits = catalogue.FORECAST_HITS.read()
        for name, link in sorted(self._daemon.fleet.links.items()):
            if link.observation is None:
                continue
            available.add(float(link.observation.is_complete), name)
            reliable.add(float(forecasts.is_reliable(name)), name)
            rate = hit_rate(forecasts.results(name))
            if rate is not None:
                hits.add(rate / 100, name)
        yield available.collected
        yield reliable.collected
        yield hits.collected


def _status(link: WorkerLink) -> Connection:
    """Return the status of a worker; one whose schema was not read yet is still connecting."""
    connection = link.report.connection
    return Connection.CONNECTING if connection is Connection.CONNECTED and not link.is_connected else connection
