"""PodDisruptionBudgets: which units cannot be evicted without overdrawing one.

Budgets never forbid an eviction; they only decide who is put back first and which node is chosen. They are charged in
the order of importance. Where that order is undefined and it matters who overdraws, every possibility is followed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations, product
from math import factorial, prod
from typing import Final, NamedTuple

from config.api.meta import ObjectKey
from config.api.selectors import matches_selector
from engine.pods.search.units import Unit
from engine.pods.values.answer import UnitKind
from engine.pods.values.values import BoundPod, DisruptionBudget, SchedulerMode
from engine.vocabulary.effort import Effort

Violations = Mapping[tuple[UnitKind, ObjectKey], int]
"""How many pods of each violating unit overdraw; other units are not in it."""
Order = tuple[ObjectKey, ...]
"""Budgets, the first to be charged first; those that are not in it make no difference."""


_MOST_MEETINGS: Final = 24
_MOST_BUDGET_ORDERS: Final = 120
_MOST_UNIT_ORDERS: Final = 120


@dataclass(frozen=True, slots=True)
class ChargeRules:
    """How a release charges budgets."""

    charges_all_budgets: bool
    """A pod that overdraws one budget is charged to its others too."""
    stops_at_first_pod: bool
    """The rest of a unit is not charged once one of its pods overdraws."""

    @classmethod
    def of(cls, mode: SchedulerMode, preemptor: UnitKind) -> "ChargeRules":
        """Return the rules of a mode for this kind of preemptor."""
        is_release_36 = mode is SchedulerMode.V1_36
        return cls(is_release_36 and preemptor is UnitKind.POD, is_release_36 and preemptor is UnitKind.POD_GROUP)


class Charge(NamedTuple):
    """Who overdraws a budget."""

    order: Sequence[Sequence[Unit]] | None
    """That of importance, in which the units were met; None where nothing more is known of it than before."""
    violations: Violations


class _Charged(NamedTuple):
    """What was taken of each budget so far, and who overdrew."""

    spent: dict[ObjectKey, int]
    violations: dict[tuple[UnitKind, ObjectKey], int]


class BudgetLedger:
    """Finds the budgets of pods and charges them."""

    def __init__(self, budgets: Iterable[DisruptionBudget], rules: ChargeRules, effort: Effort | None = None) -> None:
        """Take the budgets as they stand; one without a selector covers nothing."""
        self._by_label: dict[str, dict[tuple[str, str], list[DisruptionBudget]]] = {}
        self._by_namespace: dict[str, list[DisruptionBudget]] = {}
        for budget in budgets:
            namespace, wanted = budget.key.namespace, budget.selector.get("matchLabels") or {}
            if wanted:
                label = next(iter(wanted.items()))
                self._by_label.setdefault(namespace, {}).setdefault(label, []).append(budget)
            elif budget.selector.get("matchExpressions"):
                self._by_namespace.setdefault(namespace, []).append(budget)
        self._rules = rules
        self._effort = effort or Effort()
        self._covering: dict[ObjectKey, list[DisruptionBudget]] = {}

    @property
    def is_empty(self) -> bool:
        """Return whether no pod can be covered."""
        return not self._by_namespace and not self._by_label

    def orders(self, units: Sequence[Unit], limit: int) -> tuple[list[Order], bool]:
        """Return the orders in which budgets may be charged during a cycle, and whether these are all."""
        orders = self._budget_orders(units)
        found = list(islice(orders, 1 if limit == 1 else _MOST_BUDGET_ORDERS))
        return found, next(orders, None) is None

    def charges(self, ties: Sequence[Sequence[Unit]], limit: int) -> tuple[list[Charge], bool]:
        """Return who may be found to overdraw, and whether these are all possibilities."""
        found: list[Charge] = []
        orders, is_complete = self.orders([unit for tied in ties for unit in tied], limit)
        for order in orders:
            charges, was_complete = self.charges_in(order, ties, limit)
            is_complete &= was_complete
            found += [charge for charge in charges if charge not in found]
        return found, is_complete

    def charges_in(self, order: Order, ties: Sequence[Sequence[Unit]], limit: int) -> tuple[list[Charge], bool]:
        """Return the same for one order of the budgets."""
        if self.is_empty:
            return [Charge(None, {})], True
        self._order = {budget: place for place, budget in enumerate(order)}
        possible, is_complete = self._possible_violations(ties, limit)
        if len(possible) == 1 or limit == 1 or prod(factorial(len(tied)) for tied in ties) > _MOST_UNIT_ORDERS:
            return [Charge(None, violations) for violations in possible], is_complete
        return list(self._charges_one_by_one(ties, limit)), True

    def _charges_one_by_one(self, ties: Sequence[Sequence[Unit]], limit: int) -> Iterator[Charge]:
        """Yield who overdraws for every order of equally important units: they are put back in the same one."""
        for met in product(*map(permutations, ties)):
            one_by_one = tuple((unit,) for part in met for unit in part)
            possible, _ = self._possible_violations(one_by_one, limit)
            yield from (Charge(one_by_one, violations) for violations in possible)

    def _possible_violations(self, ties: Sequence[Sequence[Unit]], limit: int) -> tuple[list[Violations], bool]:
        states: list[_Charged] = [_Charged({}, {})]
        is_complete = True
        for tied in ties:
            covered = [unit for unit in tied if any(self._covers(pod) for pod in unit.pods)]
            if not covered:
                continue
            following = []
            for (spent, violations), met in product(states, self._meetings(covered, limit)):
                charged, was_complete = self._charge_in_every_order(met, spent, limit)
                is_complete &= was_complete
                states_after = (_Charged(after, {**violations, **found}) for after, found in charged)
                following += [state for state in states_after if state not in following]
            if len(following) > limit:
                following, is_complete = following[:limit], False
            states = following
        distinct: list[Violations] = []
        for _, violations in states:
            if violations not in distinct:
                distinct.append(violations)
        return distinct, is_complete

    def _budget_orders(self, units: Sequence[Unit]) -> Iterator[Order]:
        """Yield the orders in which budgets may be charged; one where it makes no difference.

        The scheduler lists them once a cycle, in no fixed order. It matters where a pod that overdraws one is not
        charged to the next.
        """
        if self.is_empty:
            return iter([()])
        covered = [self._covers(pod) for unit in units for pod in unit.pods]
        if self._rules.charges_all_budgets:
            return iter([()])
        charges = Counter(budget.key for budgets in covered for budget in budgets)
        shared = [budgets for budgets in covered if len(budgets) > 1]
        if not any(charges[budget.key] > budget.allowed for budgets in shared for budget in budgets):
            return iter([()])
        return permutations(dict.fromkeys(budget.key for budgets in shared for budget in budgets))

    def _meetings(self, units: Sequence[Unit], limit: int) -> Iterable[Sequence[Unit]]:
        """Return the units with their pods in every order that may matter: where the first that overdraws is the last
        that is charged, it matters which nodes, and so which pods, are met first."""
        if limit == 1 or not self._rules.stops_at_first_pod:
            return [units]
        return islice(product(*map(self._met_in_every_order, units)), _MOST_MEETINGS)

    def _met_in_every_order(self, unit: Unit) -> list[Unit]:
        covered = [pod for pod in unit.pods if self._covers(pod)]
        distinct: dict[tuple[tuple[ObjectKey, ...], ...], Unit] = {}
        for order in islice(permutations(covered), _MOST_MEETINGS):
            charged = tuple(tuple(budget.key for budget in self._covers(pod)) for pod in order)
            distinct.setdefault(charged, unit._replace(pods=order))
        return list(distinct.values())

    def _charge_in_every_order(
        self, tied: Sequence[Unit], spent: Mapping[ObjectKey, int], limit: int
    ) -> tuple[list[_Charged], bool]:
        first = self._charge(tied, spent)
        if len(tied) == 1 or not first[1] or len(first[1]) == len(tied):
            return [first], True
        if limit == 1:
            return [first], False
        found = [first]
        orders = permutations(tied)
        for order in islice(orders, limit):
            outcome = self._charge(order, spent)
            if outcome not in found:
                found.append(outcome)
        return found, next(orders, None) is None

    def _charge(self, units: Iterable[Unit], spent: Mapping[ObjectKey, int]) -> _Charged:
        after, violations = dict(spent), {}
        for unit in units:
            self._effort.spend()
            overdrawing = 0
            for pod in unit.pods:
                overdrawing += self._charge_pod(pod, after)
                if overdrawing and self._rules.stops_at_first_pod:
                    break
            if overdrawing:
                violations[unit.identity] = overdrawing
        return _Charged(after, violations)

    def _charge_pod(self, pod: BoundPod, spent: dict[ObjectKey, int]) -> bool:
        is_overdrawn = False
        for budget in sorted(self._covers(pod), key=lambda budget: self._order.get(budget.key, 0)):
            spent[budget.key] = spent.get(budget.key, 0) + 1
            if spent[budget.key] > budget.allowed:
                is_overdrawn = True
                if not self._rules.charges_all_budgets:
                    break
        return is_overdrawn

    def _covers(self, pod: BoundPod) -> list[DisruptionBudget]:
        covering = self._covering.get(pod.key)
        if covering is None:
            covering = self._covering[pod.key] = list(self._find(pod)) if pod.labels else []
        return covering

    def _find(self, pod: BoundPod) -> Iterator[DisruptionBudget]:
        namespace = pod.key.namespace
        by_label = self._by_label.get(namespace, {})
        near = [found for item in pod.labels.items() if item in by_label for found in by_label[item]]
        for budget in (*near, *self._by_namespace.get(namespace, ())):
            is_match = _asks_for_one_label(budget) or matches_selector(budget.selector, pod.labels)
            if is_match and pod.key.name not in budget.disrupted:
                yield budget


def _asks_for_one_label(budget: DisruptionBudget) -> bool:
    """Return whether the label by which a budget was found is all that it asks for."""
    return len(budget.selector.get("matchLabels") or ()) == 1 and not budget.selector.get("matchExpressions")
