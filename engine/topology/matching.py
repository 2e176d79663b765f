"""Which leaves a pod set can go to at all: taints, node selector and required node affinity of single Nodes.

Only a topology whose lowest level is the hostname knows single Nodes; in any other every leaf matches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from engine.placement.node_affinity import AffinityError, Expression
from engine.placement.taints import Taint, Toleration, first_untolerated, read_tolerations
from engine.topology.node_inventory import TopologyNode
from engine.topology.tree import FlavorTree

_NAME_FIELD: Final = "metadata.name"
_NODE_SELECTOR: Final = "nodeSelector"
_AFFINITY: Final = "affinity"


class NodeTerm(NamedTuple):
    """One term of a required node affinity: requirements on labels and on fields of the Node."""

    expressions: tuple[Expression, ...]
    fields: tuple[Expression, ...]

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a raw node selector term."""
        return cls(
            tuple(map(Expression.from_raw, raw.get("matchExpressions") or ())),
            tuple(map(Expression.from_raw, raw.get("matchFields") or ())),
        )

    @property
    def is_empty(self) -> bool:
        """Return whether it requires nothing: Kubernetes lets such a term match no Node."""
        return not self.expressions and not self.fields

    def matches(self, node: TopologyNode) -> bool:
        """Return whether the Node meets every requirement."""
        name = {_NAME_FIELD: node.name}
        return all(each.matches(node.labels) for each in self.expressions) and all(
            each.matches(name) for each in self.fields
        )


@dataclass(frozen=True, slots=True)
class NodeConstraints:
    """What a pod set says about single Nodes; equal constraints match the same leaves."""

    tolerations: tuple[Toleration, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeTerm, ...] | None = None
    """None without a required affinity; with one that has no terms, no Node matches."""

    @classmethod
    def from_raw(cls, pod_spec: Mapping[str, Any]) -> Self:
        """Read a raw pod spec."""
        affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        return cls(
            tolerations=read_tolerations(pod_spec.get("tolerations")),
            selector=tuple(sorted((pod_spec.get("nodeSelector") or {}).items())),
            terms=None if required is None else tuple(map(NodeTerm.from_raw, required.get("nodeSelectorTerms") or ())),
        )

    def updated(self, tolerations: tuple[Toleration, ...], selector: Mapping[str, str]) -> Self:
        """Return the constraints with what admission checks add."""
        merged = {**dict(self.selector), **selector}
        return replace(self, tolerations=(*self.tolerations, *tolerations), selector=tuple(sorted(merged.items())))

    def exclusion(self, node: TopologyNode, flavor_tolerations: tuple[Toleration, ...]) -> str | None:
        """Return what keeps the pods off the Node, as the statistics of Kueue's message call it."""
        if node.taints:
            taint = first_untolerated(node.taints, (*self.tolerations, *flavor_tolerations))
            if taint is not None:
                return f'taint "{_written(taint)}"'
        if any(node.labels.get(key) != value for key, value in self.selector):
            return _NODE_SELECTOR
        if self.terms is not None and not any(not term.is_empty and term.matches(node) for term in self.terms):
            return _AFFINITY
        return None

    def check(self) -> None:
        """Raise `AffinityError` where a requirement cannot be evaluated."""
        problems = [
            problem
            for index, term in enumerate(self.terms or ())
            for position, expression in enumerate(term.expressions)
            for problem in expression.problems(f"nodeSelectorTerms[{index}].matchExpressions[{position}]")
        ]
        if problems:
            raise AffinityError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


class LeafMatches:
    """Which leaves of one tree match, and why the others do not."""

    __slots__ = ("excluded",)

    def __init__(self, tree: FlavorTree, constraints: NodeConstraints) -> None:
        self.excluded: dict[int, str] = {}
        """For each leaf that does not match, by index, what excludes it."""
        if not tree.is_by_hostname:
            return
        for leaf in tree.leaves:
            reason = constraints.exclusion(leaf.nodes[0], tree.tolerations)
            if reason is not None:
                self.excluded[leaf.index] = reason


def merged_updates(updates: Sequence[Mapping[str, Any]]) -> tuple[tuple[Toleration, ...], dict[str, str], str | None]:
    """Join the podSetUpdates of several admission checks; the last value says why they contradict each other."""
    tolerations: list[Toleration] = []
    selector: dict[str, str] = {}
    for update in updates:
        tolerations += read_tolerations(update.get("tolerations"))
        for key, value in (update.get("nodeSelector") or {}).items():
            if selector.setdefault(key, value) != value:
                return (), {}, f"conflict for key={key}, value1={selector[key]}, value2={value}"
    return tuple(tolerations), selector, None


def _written(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"
