"""Which workers the rules of a Workload, or of a MultiKueueConfig, leave over.

Invariant: a rule only takes workers away. What is not listed is never reached through an annotation of a Workload.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from config.api.identifiers import WorkerName
from config.api.selector_text import parse_selector
from config.api.selectors import matches_selector
from gates.targets.rules import CLUSTER_NAMES, CLUSTER_SELECTOR, Exclusion, ExclusionRule, TargetRules

MILLION: Final = 1_000_000
_PIECES: Final = {"cpu": 1000, "memory": 1 << 30, "ephemeral-storage": 1 << 30}
"""How many of the units in which Kueue counts make one that has a price."""


@dataclass(frozen=True, slots=True)
class WorkerTraits:
    """What is said about one worker in the configuration and on its MultiKueueCluster."""

    labels: Mapping[str, str] = field(default_factory=dict)
    weight: int = MILLION
    """In millionths: among equals, the worker with more is preferred."""
    prices: Mapping[str, int] = field(default_factory=dict)
    """In millionths: what an hour of one core, one GiB or one piece of each resource costs."""
    is_cordoned: bool = False
    """Nothing new goes there."""
    most_pod_sets: int | None = None
    """How many pod sets its API lets a Workload have; None where that is not known."""


def exclusion_of(rules: TargetRules, name: WorkerName, traits: WorkerTraits, pod_sets: int = 0) -> Exclusion | None:
    """Return the first rule that keeps a Workload with so many pod sets from a worker; None if it may go there."""
    if rules.cluster_names is not None and name not in rules.cluster_names:
        return Exclusion(ExclusionRule.CLUSTER_NAMES, f"annotation {CLUSTER_NAMES} does not name it")
    if rules.selector and not matches(rules.selector, traits.labels):
        return Exclusion(ExclusionRule.CLUSTER_SELECTOR, f"its labels do not match annotation {CLUSTER_SELECTOR}")
    if traits.most_pod_sets is not None and pod_sets > traits.most_pod_sets:
        text = f"its API accepts {traits.most_pod_sets} pod sets, and the Workload has {pod_sets}"
        return Exclusion(ExclusionRule.API_LIMIT, text)
    if traits.is_cordoned:
        return Exclusion(ExclusionRule.CORDONED, "it is cordoned")
    return None


def price_of(amounts: Mapping[str, int], prices: Mapping[str, int]) -> int:
    """Return what an hour of these amounts costs, in millionths; what has no price costs nothing."""
    return sum(amount * prices[name] // _PIECES.get(name, 1) for name, amount in amounts.items() if name in prices)


def matches(selector: str, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a selector, which was read before."""
    return matches_selector(parse_selector(selector), labels)


def selected(
    selector: str, listed: Iterable[WorkerName], labels: Mapping[WorkerName, Mapping[str, str]]
) -> tuple[WorkerName, ...]:
    """Return the workers that a MultiKueueConfig with a selector leads to: in the order of its list, then by name."""
    matching = {name for name, found in labels.items() if matches(selector, found)}
    preferred = [name for name in listed if name in matching]
    return (*preferred, *sorted(matching.difference(preferred)))


def unknown_names(rules: TargetRules, listed: Iterable[WorkerName]) -> tuple[WorkerName, ...]:
    """Return the clusters that the annotation names and the MultiKueueConfig does not list."""
    known = frozenset(listed)
    return tuple(name for name in rules.cluster_names or () if name not in known)


def not_listed(names: Iterable[WorkerName]) -> str:
    """Say which clusters are named in vain."""
    return f"annotation {CLUSTER_NAMES} names clusters that the MultiKueueConfig does not list: {', '.join(names)}"
