"""Placing all pod sets of a workload: flavor by flavor, unit by unit, each beside those that were placed before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.placement.node_affinity import AffinityError
from engine.topology.counts import CountKeeper, CountQuestion, DomainCounts
from engine.topology.level_search import LeafShare, LevelSearch, NoDomainsError, NoPlaceError
from engine.topology.levels import LevelError, plan_levels
from engine.topology.matching import NodeConstraints
from engine.topology.node_inventory import NodeAmounts, with_pod_slot
from engine.topology.request import TopologyRequest
from engine.topology.rules import TopologyRules
from engine.topology.texts import no_domains, no_place, shortage_of
from engine.topology.tree import FlavorTree, LeafDomain, LeafKey
from engine.vocabulary.topology import HOSTNAME, PlacedPods, TopologyAssignment, TopologyShortage

_LEAVES_PLACED_IN_A_STEP: Final = 8
_LEAVES_TESTED_IN_A_STEP: Final = 256


@dataclass(frozen=True, slots=True)
class PodSetToPlace:
    """A pod set that needs nodes."""

    name: str
    count: int
    single: NodeAmounts
    """What one pod takes, without its slot."""
    request: TopologyRequest
    is_implied: bool
    """It asks for no topology, but its ClusterQueue has no other flavors."""
    constraints: NodeConstraints
    error: str | None = None
    """Why its constraints cannot be used."""


@dataclass(frozen=True, slots=True)
class PlacementUnit:
    """A pod set, or a leader with its workers, in one flavor."""

    flavor: str
    workers: PodSetToPlace
    leader: PodSetToPlace | None = None


@dataclass(slots=True)
class PlacementResult:
    """Where the pods go, by pod set, and why some find no place."""

    assignments: dict[str, TopologyAssignment] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


class PlacementQuestion:
    """All units of one workload; asked again after every change of usage."""

    def __init__(
        self, keepers: Mapping[str, CountKeeper], units: Sequence[PlacementUnit], rules: TopologyRules
    ) -> None:
        self.units: Final = units
        self._keepers: Final = {unit.flavor: keepers[unit.flavor] for unit in units}
        self._rules: Final = rules

    def place(self, *, on_empty: bool = False) -> PlacementResult:
        """Place every unit; the first that finds no place ends its flavor."""
        self._spend(_LEAVES_PLACED_IN_A_STEP)
        result = PlacementResult()
        assumed: list[tuple[FlavorTree, LeafKey]] = []
        try:
            for flavor in sorted(self._keepers):
                for unit in self.units:
                    if unit.flavor == flavor and not self._place_unit(unit, result, assumed, on_empty=on_empty):
                        break
        finally:
            for tree, key in assumed:
                tree.forget_assumed((key,))
        return result

    def fits(self) -> bool:
        """Return whether every unit finds a place; where there is one unit, that needs no placement."""
        self._spend(_LEAVES_TESTED_IN_A_STEP)
        try:
            if not all(self._counts(unit, on_empty=False).fits() for unit in self.units):
                return False
        except (LevelError, AffinityError):
            return False
        return len(self.units) == 1 or not self.place().failures

    def shortage(self, pod_set: str) -> TopologyShortage | None:
        """Return how far the free nodes go for a pod set that found no place; None where that is not why."""
        for unit in self.units:
            if unit.workers.name != pod_set or unit.workers.error is not None:
                continue
            try:
                counts = self._counts(unit, on_empty=False)
            except (LevelError, AffinityError):
                return None
            return shortage_of(counts, unit.workers.count)
        return None

    def _spend(self, leaves_in_a_step: int) -> None:
        for unit in self.units:
            keeper = self._keepers[unit.flavor]
            keeper.spend(1 + len(keeper.tree.leaves) // leaves_in_a_step)

    def _place_unit(
        self,
        unit: PlacementUnit,
        result: PlacementResult,
        assumed: list[tuple[FlavorTree, LeafKey]],
        *,
        on_empty: bool,
    ) -> bool:
        """Place one unit and take its room; return whether there was a place."""
        name, count = unit.workers.name, unit.workers.count
        if unit.workers.error is not None:
            result.failures[name] = unit.workers.error
            return False
        try:
            counts = self._counts(unit, on_empty=on_empty)
        except LevelError as error:
            result.failures[name] = str(error)
            return False
        except AffinityError as error:
            result.failures[name] = f"invalid affinity node selectors: {error}"
            return False
        try:
            is_least_free_first = counts.question.plan.is_unconstrained and self._rules.profile_mixed
            shares = LevelSearch(counts, count, least_free_first=is_least_free_first).run()
        except NoDomainsError as error:
            result.failures[name] = no_domains(counts, error.level)
            return False
        except NoPlaceError as error:
            result.failures[name] = no_place(counts, count, error.placed, error.level)
            return False
        tree = counts.tree
        result.assignments[name] = _assignment(tree, ((share, share.pods) for share in shares))
        self._assume(tree, unit.workers, result.assignments[name], assumed)
        if unit.leader is not None:
            placed = result.assignments[unit.leader.name] = _assignment(
                tree, ((share, share.leaders) for share in shares)
            )
            self._assume(tree, unit.leader, placed, assumed)
        return True

    def _counts(self, unit: PlacementUnit, *, on_empty: bool) -> DomainCounts:
        workers, leader = unit.workers, unit.leader
        keeper = self._keepers[unit.flavor]
        plan = plan_levels(workers.request, keeper.tree.levels, is_implied=workers.is_implied)
        if keeper.tree.is_by_hostname:
            workers.constraints.check()
        return keeper.counts(
            CountQuestion(
                single=tuple(sorted(with_pod_slot(workers.single).items())),
                leader=None if leader is None else tuple(sorted(with_pod_slot(leader.single).items())),
                constraints=workers.constraints if keeper.tree.is_by_hostname else _NO_CONSTRAINTS,
                plan=plan,
                need=workers.count // plan.slice_size,
                on_empty=on_empty,
            )
        )

    def _assume(
        self,
        tree: FlavorTree,
        pod_set: PodSetToPlace,
        assignment: TopologyAssignment,
        assumed: list[tuple[FlavorTree, LeafKey]],
    ) -> None:
        single = with_pod_slot(pod_set.single)
        is_shared = tree.is_by_hostname and self._rules.handle_overlapping_flavors
        others = (keeper.tree for keeper in self._keepers.values())
        trees = [each for each in others if each is tree or (is_shared and each.is_by_hostname)]
        for values, count in assignment.domains:
            for each in trees:
                each.assume(values, single, count)
                assumed.append((each, values))


_NO_CONSTRAINTS: Final = NodeConstraints()


def _assignment(tree: FlavorTree, shares: Iterator[tuple[LeafShare, int]]) -> TopologyAssignment:
    domains = []
    for share, count in shares:
        if count > 0 and isinstance(share.leaf, LeafDomain):
            domains.append(PlacedPods(share.leaf.key, count))
    levels = (HOSTNAME,) if tree.is_by_hostname else tree.levels
    return TopologyAssignment(levels, tuple(domains))
