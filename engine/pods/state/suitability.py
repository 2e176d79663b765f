"""What keeps a pod off a node however empty it is, and how much it likes one that it can go to.

These verdicts do not depend on other pods, so they are made once per node for all pods with the same demands.
"""

from collections.abc import Sequence
from typing import Final

from engine.placement.node_affinity import Expression
from engine.placement.taints import Taint, first_untolerated
from engine.pods.values.explanation import NodeAnswer
from engine.pods.values.values import Footprint, Node, NodeDemands, SelectorTerm

_NAME_FIELD: Final = "metadata.name"
_CORDON: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_SOFT: Final = "PreferNoSchedule"


def obstacle(node: Node, demands: NodeDemands) -> NodeAnswer | None:
    """Return why no pod with these demands can ever go to the node, None when it may."""
    if node.is_cordoned and first_untolerated((_CORDON,), demands.tolerations) is not None:
        return NodeAnswer.CORDONED
    if node.hard_taints and first_untolerated(node.hard_taints, demands.tolerations) is not None:
        return NodeAnswer.UNTOLERATED_TAINT
    if any(node.labels.get(key) != value for key, value in demands.selector):
        return NodeAnswer.AFFINITY_MISMATCH
    if demands.required is not None and not any(_matches(term, node) for term in demands.required):
        return NodeAnswer.AFFINITY_MISMATCH
    return None


def is_too_small(node: Node, footprint: Footprint) -> bool:
    """Return whether a pod would not even fit on the empty node."""
    capacity = len(node.allocatable)
    return any(index >= capacity or amount > node.allocatable[index] for index, amount in footprint.requests)


def unwelcome_taints(node: Node, demands: NodeDemands) -> int:
    """Count the taints that only discourage."""
    if not node.soft_taints:
        return 0
    answers = [answer for answer in demands.tolerations if answer.effect in ("", _SOFT)]
    return sum(not any(answer.tolerates(taint) for answer in answers) for taint in node.soft_taints)


def liking(node: Node, demands: NodeDemands) -> int:
    """Return the sum of the weights of the preferences that the node satisfies."""
    return sum(
        preference.weight
        for preference in demands.preferred
        if (preference.term.expressions or preference.term.fields) and _matches(preference.term, node)
    )


def _matches(term: SelectorTerm, node: Node) -> bool:
    if not all(_is_valid_field(expression) for expression in term.fields):
        return False
    if any(expression.problems("") for expression in term.expressions):
        return False
    return all(expression.matches(node.labels) for expression in term.expressions) and _matches_name(
        term.fields, node.name
    )


def _matches_name(fields: Sequence[Expression], name: str) -> bool:
    return all(expression.matches({_NAME_FIELD: name}) for expression in fields)


def _is_valid_field(expression: Expression) -> bool:
    """Return whether a requirement on a field can be evaluated: only the name, and only against one value."""
    return (
        expression.key == _NAME_FIELD and expression.operator in ("In", "NotIn") and len(expression.values or ()) == 1
    )
