"""Gauges of the daemon's state, read at the moment of the scrape, without keeping any of it twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from config.api.identifiers import WorkerName
from gates.decision.reliability import hit_rate
from gates.model.settings import SECOND
from gates.model.view import GateSupport
from gates.wire.records import HubRecord
from manager.app.cluster_core import ClusterCore
from manager.clusters.worker import WorkerLink
from manager.metrics import catalogue
from manager.metrics.families import only
from manager.queueing.action_slots import ActionSlots
from manager.reconcile.forecasts import Forecasts
from manager.telemetry.metrics_listener import MetricsListener
from manager.upkeep.credential_expiry import credential_ends_ns
from workerclient.objects.connection_report import ConnectionState

_REFUSED = "Refused"
_STATUSES = (*ConnectionState, _REFUSED)
_GATE_STATES = {
    GateSupport.HONOURED: "honoured",
    GateSupport.UNKNOWN: "unknown",
    GateSupport.MISSING: "not_honoured",
}


@dataclass(frozen=True, slots=True)
class GaugeSources:
    """The parts of the daemon that gauges are read from."""

    may_act: Callable[[], bool]
    core: ClusterCore
    slots: ActionSlots
    listener: MetricsListener
    forecasts: Forecasts | None


class DaemonGauges(Collector):
    """Reads the daemon when it is collected."""

    def __init__(self, sources: GaugeSources) -> None:
        self._sources = sources
        self._hub, self._fleet, self._clock = sources.core.hub, sources.core.fleet, sources.core.clock

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering collects nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families that show a state."""
        workers = sorted(self._fleet.names())
        yield only(catalogue.LEADER, self._sources.may_act())
        yield only(catalogue.HUB_CONNECTED, self._hub.is_connected)
        yield only(catalogue.HUB_HISTORIES, self._hub.new_histories)
        yield only(catalogue.QUEUE_DEPTH, len(self._sources.core.workloads))
        yield only(catalogue.IN_FLIGHT, self._sources.slots.in_flight)
        yield from self._waiting()
        yield from self._workers(workers)
        yield from self._gates(workers)
        yield self._gate_support()
        yield self._kueues()
        yield from self._forecasts()

    def _waiting(self) -> Iterator[Metric]:
        counts, since_ns = Counter[str](), dict[str, int]()
        for key, waits_since_ns in self._sources.listener.waiting().items():
            record = self._hub.workload(key)
            if isinstance(record, HubRecord):
                queue = record.cluster_queue
                counts[queue] += 1
                since_ns[queue] = min(waits_since_ns, since_ns.get(queue, waits_since_ns))
        waiting, longest, now_ns = catalogue.WAITING.read(), catalogue.LONGEST_WAIT.read(), self._clock.now_ns()
        for queue, count in sorted(counts.items()):
            waiting.add(count, queue)
            longest.add(max(0, now_ns - since_ns[queue]) / SECOND, queue)
        yield waiting.collected
        yield longest.collected

    def _workers(self, workers: list[WorkerName]) -> Iterator[Metric]:
        connected, status = catalogue.WORKER_CONNECTED.read(), catalogue.WORKER_STATUS.read()
        lost, cordoned = catalogue.WORKER_LOST.read(), catalogue.WORKER_CORDONED.read()
        now_ns = self._clock.now_ns()
        for name in workers:
            link = self._fleet.links.get(name)
            state = _REFUSED if link is None else _status(link)
            cordoned.add(float(self._hub.workers.traits(name).is_cordoned), name)
            connected.add(float(state == ConnectionState.CONNECTED), name)
            for each in _STATUSES:
                status.add(float(each == state), name, each)
            is_away = state in (ConnectionState.LOST, _REFUSED)
            lost.add((now_ns - self._sources.core.lost_workers.missing_since(name)) / SECOND if is_away else 0.0, name)
        yield connected.collected
        yield status.collected
        yield cordoned.collected
        yield lost.collected
        yield from self._links()

    def _links(self) -> Iterator[Metric]:
        age, drops, skew = catalogue.WATCH_AGE.read(), catalogue.WATCH_DROPS.read(), catalogue.CLOCK_SKEW.read()
        histories = catalogue.WORKER_HISTORIES.read()
        left, burst, waiting = (
            catalogue.BUDGET_LEFT.read(),
            catalogue.BUDGET_BURST.read(),
            catalogue.REQUESTS_WAITING.read(),
        )
        ends, now_ns = catalogue.CREDENTIAL_ENDS.read(), self._clock.now_ns()
        restarts, retries = catalogue.WORKER_RESTARTS.read(), catalogue.REQUEST_RETRIES.read()
        for name, link in sorted(self._fleet.links.items()):
            budget = link.client.budget
            if (ends_ns := credential_ends_ns(link.access)) is not None:
                ends.add((ends_ns - now_ns) / SECOND, name)
            counts = [link.workloads.reflector.counts, *(jobs.reflector.counts for jobs in link.jobs.values())]
            age.add(link.workloads.reflector.silence_seconds, name)
            drops.add(sum(each.drops for each in counts), name)
            histories.add(sum(each.new_histories for each in counts), name)
            skew.add(link.clock_skew_ns / SECOND, name)
            left.add(budget.left, name)
            burst.add(budget.burst, name)
            waiting.add(budget.waiting, name)
            restarts.add(link.failures, name)
            retries.add(link.retries, name)
        for reading in (age, drops, histories, restarts, skew, ends, left, burst, waiting, retries):
            yield reading.collected

    def _gates(self, workers: list[WorkerName]) -> Iterator[Metric]:
        counts = {name: [0, 0] for name in workers}
        oldest_ns: dict[WorkerName, int] = {}
        for gate in self._sources.listener.gates():
            if gate.cluster in counts:
                counts[gate.cluster][gate.opened_ns is None] += 1
                if gate.opened_ns is not None:
                    oldest_ns[gate.cluster] = min(gate.opened_ns, oldest_ns.get(gate.cluster, gate.opened_ns))
        opened, waiting = catalogue.GATES_OPEN.read(), catalogue.GATES_WAITING.read()
        oldest, now_ns = catalogue.OLDEST_OPEN.read(), self._clock.now_ns()
        for name, (open_now, asking) in counts.items():
            opened.add(open_now, name)
            waiting.add(asking, name)
            oldest.add(max(0, now_ns - oldest_ns.get(name, now_ns)) / SECOND, name)
        yield opened.collected
        yield waiting.collected
        yield oldest.collected

    def _gate_support(self) -> Metric:
        found = catalogue.WORKER_GATES.read()
        for name, link in sorted(self._fleet.links.items()):
            for support, state in _GATE_STATES.items():
                found.add(float(link.gates.verdict is support), name, state)
        return found.collected

    def _kueues(self) -> Metric:
        found = catalogue.WORKER_KUEUE.read()
        for name, link in sorted(self._fleet.links.items()):
            found.add(1.0, name, link.kueue.found.text, str(link.kueue.found.source))
        return found.collected

    def _forecasts(self) -> Iterator[Metric]:
        forecasts = self._sources.forecasts
        if forecasts is None:
            return
        available, reliable = catalogue.FORECAST_AVAILABLE.read(), catalogue.FORECAST_RELIABLE.read()
        hits = catalogue.FORECAST_HITS.read()
        for name, link in sorted(self._fleet.links.items()):
            if link.observation is None:
                continue
            available.add(float(link.observation.is_complete), name)
            reliable.add(float(forecasts.history.is_reliable(name)), name)
            rate = hit_rate(forecasts.history.results(name))
            if rate is not None:
                hits.add(rate / 100, name)
        yield available.collected
        yield reliable.collected
        yield hits.collected


def _status(link: WorkerLink) -> str:
    """Return the status of a worker; one whose schema was not read yet is still connecting."""
    connection = link.report.connection
    if connection is ConnectionState.CONNECTED and link.refusal is not None:
        return _REFUSED
    return (
        ConnectionState.CONNECTING if connection is ConnectionState.CONNECTED and not link.is_connected else connection
    )
