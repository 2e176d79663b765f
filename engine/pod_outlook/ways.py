"""Follows the pods of a Workload through their scheduling cycles, one after another, along every way that may be taken.

Two things are left open. Where nodes are equal the scheduler chooses freely. And a pod that is evicted keeps its room
until it has ended: before the next pod has its cycle, or after all have had theirs; both are followed.
Invariant: what is followed is a fork; the model that was given stays as it is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from config.api.meta import ObjectKey
from engine.pod_outlook.orders import possible_orders
from engine.pod_outlook.room import room_by_node
from engine.pod_outlook.values import PodVictim
from engine.pods.predict import Bounds, predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.state.snapshot import kind_of
from engine.pods.values.answer import PodCycleOutcome, PodCycleResult, UnitKind
from engine.pods.values.values import NOT_STARTED, BoundPod, PendingPod, SchedulerMode
from engine.vocabulary.effort import Effort, TooMuchEffortError

MOST_OUTCOMES: Final = 8
"""A longer list of possible outcomes promises nothing, so no more are looked for."""
_MOST_CYCLES: Final = 400
MOST_STEPS: Final = 20_000
"""In all cycles together: everybody else waits meanwhile, which is to be about a tenth of a second at most."""
_MOST_CHOICES: Final = 4 * MOST_OUTCOMES
"""Of one cycle."""
_MANY_MOMENTS: Final = "between many unlike pods victims may be gone at more moments than were followed"
_FEW_PODS: Final = 6
"""Of so few pods every moment is followed at which those who leave may be gone; of more, the first and the last."""
_Item = tuple[UnitKind, ObjectKey]
_Each = TypeVar("_Each")


class UnsupportedError(ValueError):
    """The scheduler's answer depends on what is not modelled."""


@dataclass(frozen=True, slots=True)
class Way:
    """What happened so far on one way: the model as it then is, who has a cycle to come, who was evicted."""

    model: PodModel
    queue: tuple[_Item, ...]
    victims: Mapping[ObjectKey, PodVictim] = field(default_factory=dict)
    leaving: frozenset[ObjectKey] = frozenset()
    """On their way out, and still on their nodes."""
    is_patient: bool = True
    """Whether pods that leave are gone only after every pod had its cycle."""
    problem: str = ""
    """Why a pod was left without a node."""


@dataclass(frozen=True, slots=True)
class End:
    """How a way ended."""

    victims: tuple[PodVictim, ...]
    unplaced: int
    problem: str


class Ways:
    """All ways of one Workload's pods."""

    def __init__(self, mode: SchedulerMode, pod_sets: Sequence[Sequence[PendingPod]], effort: Effort) -> None:
        self._mode = mode
        self._own = {pod.key: number for number, pods in enumerate(pod_sets) for pod in pods}
        self._cycles_left = _MOST_CYCLES
        self._effort = effort
        self._bounds = Bounds(_MOST_CHOICES, self._effort)
        self._seen: set[object] = set()
        self.is_complete = True
        self.reason = "more is possible than was followed"
        """Why not everything was followed, where it was not."""
        self._is_spent = False
        self.approximate: dict[str, None] = {}
        self.ends: dict[tuple[frozenset[ObjectKey], bool], End] = {}

    def follow(self, start: Way) -> None:
        """Follow a way and all that branch off it."""
        try:
            self._follow(start)
        except TooMuchEffortError as error:
            self.is_complete, self.reason, self._is_spent = False, str(error), True

    def _follow(self, start: Way) -> None:
        stack: list[Callable[[], list[Way]]] = [lambda: [start]]
        while stack and not self._is_spent and (self.is_complete or not self.ends):
            for way in reversed(stack.pop()()):
                self._effort.spend(self._toll(way))
                seen = self._signature(way)
                if seen not in self._seen:
                    self._seen.add(seen)
                    stack += reversed(self._step(way))

    def _toll(self, way: Way) -> int:
        """Return the steps that a cycle takes before anything is tried; for a group all pods are put in order."""
        is_of_group = bool(way.queue) and way.queue[0][0] is UnitKind.POD_GROUP
        return len(way.model.nodes) + len(self._own) + (2 * way.model.bound_count() if is_of_group else 0)

    def orders(self, alike: Sequence[Sequence[_Each]]) -> list[tuple[_Each, ...]]:
        """Return the orders in which unlike ones are followed; where these are not all, nothing is promised."""
        found, is_complete = possible_orders(alike)
        if not is_complete:
            self.is_complete, self.reason = False, "unlike pods may come in more orders than were followed"
        return found

    def queue_of(self, model: PodModel, pods: Iterable[PendingPod]) -> tuple[_Item, ...]:
        """Return who has a cycle: pods alone, and groups once."""
        items: dict[_Item, None] = {}
        for pod in pods:
            if pod.key in model.pending:
                items[(UnitKind.POD, pod.key) if pod.group is None else (UnitKind.POD_GROUP, pod.group)] = None
        return tuple(items)

    def _step(self, way: Way) -> list[Callable[[], list[Way]]]:
        """Return what may come next, to be worked out when it is followed."""
        if not way.queue:
            if way.leaving:
                return [lambda: self._after_leaving(way)]
            self._end(way)
            return []
        kind, key = way.queue[0]
        if kind is UnitKind.POD:
            filled = self._filled(way)
            if filled is not None:
                return [lambda: [filled]]
        if self._cycles_left == 0:
            raise TooMuchEffortError(_MOST_CYCLES)
        self._cycles_left -= 1
        predict = predict_pod if kind is UnitKind.POD else predict_group
        forecast = predict(way.model, key, self._mode, bounds=self._bounds)
        self.is_complete &= forecast.is_complete
        self.approximate.update(dict.fromkeys(forecast.approximate))
        self.is_complete &= len({outcome.victims for outcome in forecast.outcomes}) <= MOST_OUTCOMES
        followed = forecast.outcomes if self.is_complete else forecast.outcomes[:1]
        return [partial(self._after, way, outcome) for outcome in followed]

    def _filled(self, way: Way) -> Way | None:
        """Return what comes after the pods at the head of the queue that find room whichever nodes are chosen."""
        first = way.model.pending[way.queue[0][1]]
        run = [first.key]
        for kind, key in way.queue[1:]:
            pod = way.model.pending.get(key) if kind is UnitKind.POD else None
            if pod is None or kind_of(pod) != kind_of(first):
                break
            run.append(key)
        room = room_by_node(way.model, kind_of(first), run)
        total = sum(number for _, number in room)
        if total == 0 or (total >= len(run) and len(run) < len(way.queue)):
            return None
        places = (name for name, number in room for _ in range(number))
        model = way.model.fork()
        placed = 0
        for key, node in zip(run, places, strict=False):
            model.put_pod(key, bound_to(model.pending[key], node))
            placed += 1
        return replace(way, model=model, queue=way.queue[placed:])

    def _after(self, way: Way, outcome: PodCycleOutcome) -> list[Way]:
        item, rest = way.queue[0], way.queue[1:]
        match outcome.result:
            case PodCycleResult.UNSUPPORTED:
                raise UnsupportedError(outcome.reason.text if outcome.reason is not None else "")
            case PodCycleResult.SCHEDULED:
                model = way.model.fork()
                for key, node in outcome.bound.items():
                    model.put_pod(key, bound_to(model.pending[key], node))
                is_left = item[0] is UnitKind.POD_GROUP and bool(model.pending_members(item[1]))
                return [replace(way, model=model, queue=(*rest, item) if is_left else rest)]
            case PodCycleResult.PREEMPTING | PodCycleResult.WAITING if outcome.units:
                after = self._evicting(replace(way, queue=rest), outcome)
                if len(self._own) <= _FEW_PODS:
                    return [*self._after_leaving(after), after]
                if self.is_complete and len(set(self._own.values())) > 1:
                    self.is_complete, self.reason = False, _MANY_MOMENTS
                return [after] if after.is_patient else self._after_leaving(after)
            case _:  # nothing is evicted for it: it leaves the queue below
                pass
        text = outcome.reason.text if outcome.reason is not None else ""
        return [replace(way, queue=self._without_equals(way), problem=text or way.problem)]

    def _without_equals(self, way: Way) -> tuple[_Item, ...]:
        """Return who comes after pods like the first one: what one of them is refused, all are."""
        kind, key = way.queue[0]
        if kind is not UnitKind.POD:
            return way.queue[1:]
        refused = kind_of(way.model.pending[key])
        is_equal = [kind is UnitKind.POD and kind_of(way.model.pending[key]) == refused for kind, key in way.queue]
        return way.queue[is_equal.index(False) :] if False in is_equal else ()

    def _evicting(self, way: Way, outcome: PodCycleOutcome) -> Way:
        model = way.model.fork()
        victims = dict(way.victims)
        for unit in outcome.units:
            for key in unit.pods:
                pod = model.bound_pod(key)
                if pod is None or pod.is_terminating:
                    continue
                group = unit.key.name if unit.kind is UnitKind.POD_GROUP else ""
                since = None if pod.start_ns == NOT_STARTED else pod.start_ns
                victims[key] = PodVictim(*key, pod.node, unit.priority, group, since, unit.is_violating)
                model.put_pod(key, replace(pod, is_terminating=True, is_being_preempted=True))
        for key, node in outcome.nominated.items():
            model.put_pod(key, replace(model.pending[key], nominated_node=node))
        return replace(way, model=model, victims=victims, leaving=way.leaving | (victims.keys() - way.victims.keys()))

    def _after_leaving(self, way: Way) -> list[Way]:
        """Let those who leave be gone: nominated pods get their nodes, and who found none tries again, in any order."""
        model = way.model.fork()
        for key in way.leaving:
            model.put_pod(key, None)
        for key in self._own:
            pod = model.pending.get(key)
            if pod is not None and pod.group is None and pod.nominated_node:
                state = model.nodes[pod.nominated_node]
                is_room = state.node is not None and state.load.fits(state.node, pod.footprint)
                model.put_pod(key, bound_to(pod, pod.nominated_node) if is_room else replace(pod, nominated_node=""))
        waiting = [item for item in way.queue if item[0] is UnitKind.POD_GROUP or item[1] in model.pending]
        again = self.queue_of(model, (model.pending[key] for key in self._own if key in model.pending))
        alike: dict[object, list[_Item]] = {}
        for item in again:
            if item not in waiting:
                alike.setdefault(self._own.get(item[1], item[1]), []).append(item)
        orders = self.orders(list(alike.values()))
        return [replace(way, model=model, queue=(*waiting, *order), leaving=frozenset()) for order in orders]

    def _end(self, way: Way) -> None:
        unplaced = sum(key in way.model.pending for key in self._own)
        victims = tuple(way.victims[key] for key in sorted(way.victims))
        identity = (frozenset(way.victims), unplaced == 0)
        self.ends.setdefault(identity, End(victims, unplaced, way.problem))
        self.is_complete &= len(self.ends) <= MOST_OUTCOMES

    def _signature(self, way: Way) -> object:
        """Return what makes two ways the same: equal pods are interchangeable."""
        places: dict[tuple[int, str, str], int] = {}
        for key, number in self._own.items():
            pod = way.model.pending.get(key)
            node = way.model.bound_pod(key)
            at = (number, pod.nominated_node if pod is not None else "-", node.node if node is not None else "")
            places[at] = places.get(at, 0) + 1
        queue = tuple(self._own.get(key, key) for _, key in way.queue)
        return frozenset(way.victims), way.leaving, queue, frozenset(places.items()), way.is_patient


def bound_to(pod: PendingPod, node: str) -> BoundPod:
    """Return a pending pod as it is once it has its node."""
    return BoundPod(
        key=pod.key,
        node=node,
        footprint=pod.footprint,
        priority=pod.priority,
        start_ns=NOT_STARTED,
        labels=pod.labels,
        group=pod.group,
        scheduler=pod.scheduler,
        never_preempts=pod.never_preempts,
    )
