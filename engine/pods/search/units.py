"""What is evicted as a whole, at whose priority, and in which order of importance, by mode.

1.37 and the KEP count a group's priority for its members and, in `all` mode, evict every bound member of the group
wherever it runs. 1.36 does so only for a preempting group, and only for groups in that mode.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, product
from typing import Final, NamedTuple

from config.api.meta import ObjectKey
from engine.pods.state.model import PodModel
from engine.pods.values.answer import UnitKind
from engine.pods.values.values import BoundPod, PodGroup, SchedulerMode

STABLY_SORTED: Final = 12
"""So many units the scheduler sorts without disturbing equals; with more, nothing is known of their order."""
_POD_RANK: Final = 1
_GROUP_RANK: Final = 2
_MOST_STARTS: Final = 16


class Unit(NamedTuple):
    """A pod, or all bound pods of a group."""

    kind: UnitKind
    key: ObjectKey
    pods: tuple[BoundPod, ...]
    priority: int
    importance: tuple[int, int, int, int]
    """Sorts the most important unit first; units that are equal here come in no defined order."""

    @property
    def identity(self) -> tuple[UnitKind, ObjectKey]:
        """Tell a pod from a group of the same name."""
        return self.kind, self.key


class Units:
    """Makes the units of one forecast; a group's unit is made once, whichever member is met first."""

    def __init__(
        self, model: PodModel, mode: SchedulerMode, preemptor: UnitKind, starts: Mapping[ObjectKey, int] | None = None
    ) -> None:
        """Follow the rules of `mode` for this kind of preemptor; `starts` are the starts of groups that are given."""
        self._model = model
        self._starts = starts or {}
        self._mode = mode
        self._is_release_36 = mode is SchedulerMode.V1_36
        self._sees_groups = not (self._is_release_36 and preemptor is UnitKind.POD)
        self._whole_groups: dict[ObjectKey, Unit] = {}

    def of_pods(self, pods: Iterable[BoundPod]) -> Iterator[Unit]:
        """Yield the units that these pods belong to, each once."""
        met: set[ObjectKey] = set()
        for pod in pods:
            group = self._model.groups.get(pod.group) if pod.group is not None and self._sees_groups else None
            if group is None or not self._is_one_unit(group):
                yield self._single(pod, group)
            elif group.key not in met:
                met.add(group.key)
                yield self._whole(group)

    def priority_of(self, pod: BoundPod) -> int:
        """Return the priority at which a pod defends its place."""
        group = self._model.groups.get(pod.group) if pod.group is not None and self._sees_groups else None
        if group is None or (self._is_release_36 and not self._is_one_unit(group)):
            return pod.priority
        return group.priority

    def _is_one_unit(self, group: PodGroup) -> bool:
        # KEP-5710: a unit of preemption is never larger than the unit of scheduling.
        return group.is_one_unit and not (self._mode is SchedulerMode.KEP and group.min_count is None)

    def _single(self, pod: BoundPod, group: PodGroup | None) -> Unit:
        priority = pod.priority if group is None or self._is_release_36 else group.priority
        rank = _GROUP_RANK if pod.group is not None and self._sees_groups else _POD_RANK
        return Unit(UnitKind.POD, pod.key, (pod,), priority, (-priority, -rank, -1, pod.start_ns))

    def _whole(self, group: PodGroup) -> Unit:
        unit = self._whole_groups.get(group.key)
        if unit is None:
            pods = tuple(self._model.bound_members(group.key).values())
            start = self._starts.get(group.key, min(pod.start_ns for pod in pods))
            importance = (-group.priority, -_GROUP_RANK, -len(pods), start)
            unit = self._whole_groups[group.key] = Unit(UnitKind.POD_GROUP, group.key, pods, group.priority, importance)
        return unit


def possible_starts(model: PodModel, mode: SchedulerMode, limit: int) -> Iterator[dict[ObjectKey, int]]:
    """Yield what may be taken for the starts of whole groups, so many times at most.

    1.36 takes the start of whichever member it meets first, going through the nodes in an order that is not known.
    """
    options: dict[ObjectKey, list[int]] = {}
    if mode is SchedulerMode.V1_36:
        for key, members in model.members.items():
            group = model.groups.get(key)
            if group is not None and group.is_one_unit:
                first_on_node: dict[str, int] = {}
                for pod in members.values():
                    first_on_node.setdefault(pod.node, pod.start_ns)
                options[key] = list(dict.fromkeys(first_on_node.values()))
    for choice in islice(product(*options.values()), min(limit, _MOST_STARTS)):
        yield dict(zip(options, choice, strict=True))


def in_order(units: Iterable[Unit]) -> list[list[Unit]]:
    """Return units by importance, the most important first; equally important ones share an entry."""
    return as_ties(sorted(units, key=lambda unit: unit.importance))


def as_ties(units: Sequence[Unit]) -> list[list[Unit]]:
    """Group sorted units by equal importance."""
    return [list(tied) for _, tied in groupby(units, key=lambda unit: unit.importance)]
