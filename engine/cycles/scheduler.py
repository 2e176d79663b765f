"""Kueue's scheduler over one cluster: queues, memory and cycles, fed with objects and asked for its next step.

It never writes: a cycle says what Kueue would write, and the caller either writes it to an API server and feeds the
watch back, or applies it to objects of its own. Between two calls nothing happens. Invariant: what it says depends on
the objects and times that it was given, in that order, and on the choices where Kueue leaves it to chance.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

from config.api.meta import ZERO_TIME_NS, ObjectKey, parse_time
from engine.cluster.forest import root_of
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, QueueRefusal, enter_as_head
from engine.cycles.cycle import tree_outcomes
from engine.cycles.cycle_writes import CycleWriter, EntryResult, RefusedHead
from engine.cycles.object_events import ObjectEvents, WorkloadPhase
from engine.cycles.pending_queue import QueuedWorkload, RequeueReason
from engine.cycles.queues import Queues
from engine.cycles.settling import settled_status
from engine.cycles.verdicts import Head, HeadVerdict
from engine.objects.configuration import KueueConfiguration
from engine.objects.convert import to_v1beta2
from engine.objects.unsupported import Feature
from engine.objects.workloads import AdmittedWorkload
from engine.prediction.predict import NOT_EXHAUSTIVE
from engine.reporting.caveats import caveats_of
from engine.reporting.status_writes import StatusWrite, write
from engine.search.expiry import ExpiryTimers
from engine.search.ties import Choices
from engine.vocabulary.decision import Outcome
from engine.vocabulary.gate_dialect import GateDialect

MAX_ORDERS: Final = 720
"""So many ways through the ties of one tree in one cycle are followed."""

_KINDS: Final = (
    *("Namespace", "LimitRange", "RuntimeClass", "Topology", "Node", "Pod", "ResourceFlavor", "AdmissionCheck"),
    *("Cohort", "ClusterQueue", "LocalQueue", "Workload"),
)
"""What is observed, in the order in which a start takes it: no workload comes before its place is there."""

_REWORDED: Final = "Kueue words shortages by chance, and a new wording makes the scan of flavors start over for"


@dataclass(frozen=True, slots=True)
class CycleResult:
    """What one scheduling cycle did."""

    number: int
    now_ns: int
    entries: tuple[EntryResult, ...]
    """In the order in which they were decided, tree by tree."""
    writes: tuple[StatusWrite, ...]
    labels: tuple[str, ...] = ()
    """`ambiguous: …`, `unsupported: …` and other circumstances that the answer rests on."""
    rewords: bool = False
    """Whether a status was written anew only because chance worded it otherwise."""


class Scheduler:
    """The in-memory state of one Kueue."""

    def __init__(
        self,
        configuration: KueueConfiguration | None = None,
        *,
        dialect: GateDialect = GateDialect.KUEUE,
        sees_topology: bool = False,
    ) -> None:
        """Start without objects; `sees_topology` if Topologies, Nodes and Pods are among those that come."""
        self.model: Final = ClusterModel(configuration, sees_topology=sees_topology)
        self.queues: Final = Queues(self.model)
        self.cycle_number = 0
        self._dialect = dialect
        self._timers = ExpiryTimers(self.model)
        self._events = ObjectEvents(self.model, self.queues, self._timers)
        self._backoffs: list[tuple[int, ObjectKey]] = []
        self._last_wake_ns = ZERO_TIME_NS

    @classmethod
    def of(
        cls,
        objects: Iterable[Mapping[str, Any]],
        now_ns: int,
        configuration: KueueConfiguration | None = None,
        *,
        dialect: GateDialect = GateDialect.KUEUE,
    ) -> "Scheduler":
        """Return the state of a Kueue that has just started on these objects, in whatever order they are given.

        With a Topology among them, its Nodes and Pods are taken to be complete.
        """
        given = sorted(objects, key=_start_order)
        sees_topology = any(raw.get("kind") == "Topology" for raw in given)
        scheduler = cls(configuration, dialect=dialect, sees_topology=sees_topology)
        for raw in given:
            scheduler.observe(raw, now_ns)
        scheduler.queues.process_retries(now_ns, even_if_early=True)
        scheduler.wake(now_ns)
        return scheduler

    def observe(self, raw: Mapping[str, Any], now_ns: int) -> None:
        """Take an added or changed object."""
        reduced = self.model.reduce(raw)
        if reduced is None:
            return
        kind, key, value = reduced
        if kind == "Workload":
            raw = to_v1beta2(raw)
            self._events.workload(raw, value, now_ns)
            self._note_backoff(key, raw, now_ns)
        else:
            self._events.other(kind, key, value, now_ns)

    def forget(self, kind: str, namespace: str, name: str, now_ns: int) -> None:
        """Take a removed object."""
        key = ObjectKey(namespace, name)
        if kind == "Workload":
            self._events.workload_gone(key, now_ns)
        elif kind in _KINDS and self.model.get(kind, key) is not None:
            self._events.other(kind, key, None, now_ns)

    def workload(self, key: ObjectKey) -> Mapping[str, Any] | None:
        """Return a raw Workload as it was last seen."""
        return self._events.raw.get(key)

    def workloads(self) -> Iterable[ObjectKey]:
        """Return the keys of all workloads."""
        return self._events.raw.keys()

    def evicted(self) -> frozenset[ObjectKey]:
        """Return the workloads that were told to go and still hold quota."""
        return frozenset(self._events.evicted)

    def settle(self, key: ObjectKey, now_ns: int) -> StatusWrite | None:
        """Return what the workload controller writes when it reconciles a workload, None if that is nothing."""
        raw, workload = self.workload(key), self.model.workload(key)
        if raw is None or workload is None or isinstance(workload, AdmittedWorkload):
            return None
        if WorkloadPhase.of(raw) is not WorkloadPhase.PENDING or (raw.get("spec") or {}).get("active") is False:
            return None
        change = write(raw, settled_status(self.model, workload, raw, now_ns, self._dialect))
        return change if change.changes_status else None

    def wake(self, now_ns: int) -> list[StatusWrite]:
        """Let time pass: retries that are due, holders that expired, back-offs that ended; return what is written."""
        self.queues.process_retries(now_ns)
        for cluster_queue in self._timers.expired(self._last_wake_ns, now_ns):
            self.queues.retry_now(cluster_queue, now_ns)
        self._last_wake_ns = now_ns
        ended = []
        while self._backoffs and self._backoffs[0][0] <= now_ns:
            ended.append(heappop(self._backoffs)[1])
        return [change for key in ended if (change := self.settle(key, now_ns)) is not None]

    def next_wake_ns(self) -> int | None:
        """Return when `wake` has something to do, None if only an object can change anything."""
        backoff = self._backoffs[0][0] if self._backoffs else None
        moments = (self.queues.next_retry_ns(), self._timers.next_ns(self._last_wake_ns), backoff)
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def has_heads(self) -> bool:
        """Return whether a cycle would have anything to do."""
        self.model.forest.settle()
        return bool(self.queues.waiting())

    def run_cycle(
        self, now_ns: int, choices: Choices | None = None, *, max_orders: int = MAX_ORDERS
    ) -> CycleResult | None:
        """Take one scheduling cycle; None if there is no head. `wake` comes first, if time has passed.

        Where ties lead to different results, `choices` picks one, the first if there are no choices; with `max_orders`
        of 1 nothing else is thought through, for those who only want something that Kueue might do.
        """
        heads = self._pop_heads()
        if not heads:
            return None
        self.cycle_number += 1
        writer = CycleWriter(self._events, now_ns, self._dialect)
        labels: list[str] = []
        trees: defaultdict[str, list[Head]] = defaultdict(list)
        for cluster_queue, item in heads:
            entry = self._enter(cluster_queue, item)
            if isinstance(entry, NominatedWorkload):
                root = root_of(entry.queue)
                trees[f"{type(root).__name__}/{root.name}"].append(Head(item, entry))
            elif entry is not None:
                writer.refuse(entry)
        labels.extend(self._second_passes())
        picks = choices or Choices()
        # All are decided on the state at the start: flavors of other trees may share hosts with those of this one.
        decided = [self._decide(heads, now_ns, picks, max_orders, labels) for heads in self._sharing_nodes(trees)]
        rewords = False
        for verdicts in decided:
            for verdict in sorted(verdicts, key=lambda verdict: verdict.position):
                writer.carry_out(verdict)
                if self._may_write_otherwise(verdict, writer):
                    labels.append(f"ambiguous: {_REWORDED} {verdict.head.key}")
                    if picks(2):
                        rewords = True
                        self.queues.forget_scan(verdict.head.key)
        return CycleResult(self.cycle_number, now_ns, writer.entries, writer.writes, tuple(labels), rewords)

    def withdraw(self, key: ObjectKey, now_ns: int) -> None:
        """Take back an admission that could not be written: the workload is tried again."""
        self._events.withdraw(key, now_ns)

    def _pop_heads(self) -> list[tuple[str, QueuedWorkload]]:
        self.model.forest.settle()
        heads = []
        for name, queue in self.queues.waiting():
            item = queue.pop()
            if item is not None:
                heads.append((name, item))
        return sorted(heads, key=lambda head: head[1].key)

    def _sharing_nodes(self, trees: Mapping[str, list[Head]]) -> list[list[Head]]:
        """Return the heads of each tree; trees whose heads may go to the same nodes influence each other."""
        if not self.model.follows_topology:
            return [trees[name] for name in sorted(trees)]
        groups: list[tuple[set[str], list[Head]]] = []
        for name in sorted(trees):
            flavors = {flavor for head in trees[name] for flavor in head.entry.spec.flavors}
            shared = {flavor for flavor in flavors if self.model.topology.levels(flavor) is not None}
            heads = trees[name]
            apart = []
            for others, theirs in groups:
                if shared.isdisjoint(others):
                    apart.append((others, theirs))
                else:
                    shared, heads = shared | others, [*theirs, *heads]
            groups = [*apart, (shared, heads)]
        return [heads for _, heads in groups]

    def _second_passes(self) -> Iterator[str]:
        """Yield a label for each workload whose nodes are chosen in a cycle of its own, which is not simulated."""
        if self.model.follows_topology:
            for workload in self.model.workloads():
                if isinstance(workload, AdmittedWorkload) and workload.second_pass is not None:
                    yield f"{Feature.TOPOLOGY_AWARE_SCHEDULING}: the second pass of Workload {workload.key} is left out"

    def _enter(self, cluster_queue: str, item: QueuedWorkload) -> NominatedWorkload | RefusedHead | None:
        if isinstance(self.model.workload(item.key), AdmittedWorkload):
            return None  # admitted already; the queue has not heard of it yet
        entry = enter_as_head(self.model, item.workload)
        if isinstance(entry, QueueRefusal):
            is_mismatch = entry.is_namespace_mismatch
            reason = RequeueReason.NAMESPACE_MISMATCH if is_mismatch else RequeueReason.GENERIC
            return RefusedHead(item, cluster_queue, entry.message, reason)
        return entry

    def _decide(
        self, heads: list[Head], now_ns: int, choices: Choices, max_orders: int, labels: list[str]
    ) -> tuple[HeadVerdict, ...]:
        caveats = [caveats_of(self.model, head.entry) for head in heads]
        labels.extend(label for caveat in caveats for label in caveat.labels)
        unsupported = [caveat.unsupported for caveat in caveats if caveat.unsupported is not None]
        if self.model.configuration.gates.prioritize_preemptor_workloads:
            unsupported.append(f"unsupported: {Feature.PRIORITIZED_PREEMPTORS}: heads that wait for victims go first")
        if unsupported:
            labels.extend(unsupported)
            return tuple(HeadVerdict.unsupported(head, unsupported[0]) for head in heads)
        outcomes = tree_outcomes(self.model, heads, self.cycle_number, now_ns, max_orders)
        possible = outcomes.possible
        if not outcomes.is_exhaustive:
            labels.append(NOT_EXHAUSTIVE)
        if len(possible) == 1:
            return possible[0]
        labels.append(f"ambiguous: {_what_differs(possible)}")
        return possible[choices(len(possible))]

    def _may_write_otherwise(self, verdict: HeadVerdict, writer: CycleWriter) -> bool:
        """Return whether only a wording that is left to chance decides if a workload's scan goes on or starts over."""
        if not self.model.configuration.profile.switches.words_shortages_at_random:
            return False
        is_random = any(pod_set.may_be_worded_otherwise for pod_set in verdict.assignment.pod_sets)
        goes_on = verdict.memory is not None and verdict.memory.has_untried_flavors
        is_refused = verdict.outcome not in (Outcome.ADMIT, Outcome.UNSUPPORTED)
        return is_random and goes_on and is_refused and not writer.writes[-1].changes_status

    def _note_backoff(self, key: ObjectKey, raw: Mapping[str, Any], now_ns: int) -> None:
        requeue_at = ((raw.get("status") or {}).get("requeueState") or {}).get("requeueAt")
        if requeue_at and parse_time(requeue_at) > now_ns:
            heappush(self._backoffs, (parse_time(requeue_at), key))


def _start_order(raw: Mapping[str, Any]) -> tuple[int, str, str]:
    kind = raw.get("kind") or ""
    metadata = raw.get("metadata") or {}
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return rank, metadata.get("namespace") or "", metadata.get("name") or ""


def _what_differs(possible: tuple[tuple[HeadVerdict, ...], ...]) -> str:
    """Say whose fate depends on a tie."""
    first, *others = possible
    differing = {
        str(verdict.head.key)
        for other in others
        for verdict, another in zip(first, other, strict=True)
        if verdict != another
    }
    return f"Kueue breaks ties by chance, which decides about {', '.join(sorted(differing))}"
