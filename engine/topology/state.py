"""All topologies of one cluster: the trees of its TAS flavors, and what pods and workloads take of them.

Fed object by object like the cluster model that it is a part of. Trees are built when they are first asked for, and
again after a Node, a flavor or a Topology changed; pods and workloads change the trees that there are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from engine.placement.suitability import FlavorPlacement
from engine.topology.counts import CountKeeper
from engine.topology.node_inventory import NodeAmounts, NodePod, TopologyNode
from engine.topology.rules import TopologyRules
from engine.topology.tree import FlavorTree, LeafKey
from engine.topology.usage import TopologyUse
from engine.vocabulary.topology import HOSTNAME

Single = Callable[[str, TopologyUse], NodeAmounts]
"""Returns what one pod of a use takes, its slot included, in a namespace."""
Uses = Callable[[], Iterable[tuple[str, tuple[TopologyUse, ...]]]]
"""Returns every use that counts, with the namespace of its workload."""


_MOST_TEMPLATES: Final = 1 << 14
_STEPS_TO_BUILD: Final = 3
"""What it takes to hang one Node into a tree."""


class TopologyState:
    """Everything in one cluster that decides where pods go."""

    def __init__(
        self, rules: TopologyRules, single: Single, uses: Uses, spend: Callable[[int], None], *, is_observed: bool
    ) -> None:
        """`spend` takes the steps of what is worked out, and raises where there are none left."""
        self.rules: Final = rules
        self._spend: Final = spend
        self.is_observed = is_observed
        """Whether Topologies, Nodes and Pods are known; where they are not, their absence says nothing."""
        self.why_unobserved = ""
        """Why they are not, for people; may be empty."""
        self._single: Final = single
        self._uses: Final = uses
        self._topologies: dict[str, tuple[str, ...]] = {}
        self._flavors: dict[str, FlavorPlacement] = {}
        self._nodes: dict[str, TopologyNode] = {}
        self._pods_on: dict[str, dict[str, int]] = {}
        self._used: dict[str, dict[LeafKey, dict[str, int]]] | None = None
        self._keepers: dict[str, CountKeeper | None] = {}
        self._singles: dict[tuple[str, int], tuple[Mapping[str, Any], NodeAmounts]] = {}

    def set_topology(self, name: str, levels: tuple[str, ...] | None) -> None:
        """Take an added, changed or removed Topology."""
        _put(self._topologies, name, levels)
        self._keepers.clear()

    def set_flavor(self, name: str, flavor: FlavorPlacement | None) -> None:
        """Take an added, changed or removed ResourceFlavor."""
        known = self._flavors.get(name)
        if flavor is None or flavor.topology_name is None:
            flavor = None
        if known != flavor:
            _put(self._flavors, name, flavor)
            self._keepers.clear()

    def set_node(self, name: str, node: TopologyNode | None) -> None:
        """Take an added, changed or removed Node; one on which no pod is placed counts as removed."""
        if self._nodes.get(name) != node:
            _put(self._nodes, name, node)
            self._keepers.clear()

    def pod_changed(self, before: NodePod | None, after: NodePod | None) -> None:
        """Take an added, changed or removed Pod."""
        for pod, count in ((before, -1), (after, 1)):
            if pod is None:
                continue
            taken = self._pods_on.setdefault(pod.node, {})
            for resource, amount in pod.requests.items():
                taken[resource] = taken.get(resource, 0) + count * amount
            for keeper in self._built():
                keeper.tree.take_from_node(pod.node, pod.requests, count)

    def workload_changed(self, namespace: str, uses: Iterable[TopologyUse], sign: int) -> None:
        """Count a workload, or with a negative sign no longer."""
        if self._used is None:
            return
        for use, flavor, single in self._spread(namespace, uses):
            self._note(self._used, flavor, use, single, sign)
            for keeper in self._built():
                if self._sees(keeper.tree, flavor):
                    for values, count in use.domains:
                        keeper.tree.use(values, single, sign * count)

    def forget_usage(self) -> None:
        """Start over with what workloads use: what one pod takes, or which workloads count, may have changed."""
        self._used = None
        self._keepers.clear()
        self._singles.clear()

    def flavors(self) -> list[str]:
        """Return the flavors with a topology, sorted."""
        return sorted(self._flavors)

    def levels(self, flavor: str) -> tuple[str, ...] | None:
        """Return the levels of a TAS flavor, None for any other and for one whose Topology is missing."""
        known = self._flavors.get(flavor)
        return None if known is None or known.topology_name is None else self._topologies.get(known.topology_name)

    def missing_topologies(self, flavors: Iterable[str]) -> list[tuple[str, str]]:
        """Return which of these flavors name a Topology that does not exist, with that name."""
        named = ((flavor, self._flavors[flavor].topology_name) for flavor in flavors if flavor in self._flavors)
        return [(flavor, name) for flavor, name in named if name is not None and name not in self._topologies]

    def keeper(self, flavor: str) -> CountKeeper | None:
        """Return the tree of a TAS flavor with what was counted in it, None if there is none."""
        if flavor not in self._keepers:
            tree = self._build(flavor)
            self._keepers[flavor] = None if tree is None else CountKeeper(tree, self._spend)
        return self._keepers[flavor]

    def release(self, namespace: str, uses: Iterable[TopologyUse], flavors: Iterable[str], sign: int = -1) -> None:
        """Pretend that a workload of a ClusterQueue with these flavors is gone, or with a positive sign back.

        Like Kueue's snapshot, this frees the leaves in the trees of the workload's own flavors and in no other.
        """
        known = frozenset(flavors)
        for use, flavor, single in self._spread(namespace, uses):
            keeper = self.keeper(flavor) if flavor in known else None
            if keeper is not None:
                for values, count in use.domains:
                    keeper.tree.use(values, single, sign * count)

    def _spread(self, namespace: str, uses: Iterable[TopologyUse]) -> Iterator[tuple[TopologyUse, str, NodeAmounts]]:
        for use in uses:
            single = self._single_of(namespace, use)
            for flavor in use.flavors:
                yield use, flavor, single

    def _single_of(self, namespace: str, use: TopologyUse) -> NodeAmounts:
        """Return what one pod takes; it is worked out once for all that share their template."""
        key = namespace, id(use.pod_spec)
        known = self._singles.get(key)
        if known is None or known[0] is not use.pod_spec:  # the template is kept, so that its id stays its own
            if len(self._singles) >= _MOST_TEMPLATES:
                self._singles.clear()
            known = self._singles[key] = (use.pod_spec, self._single(namespace, use))
        return known[1]

    def _note(
        self,
        used: dict[str, dict[LeafKey, dict[str, int]]],
        flavor: str,
        use: TopologyUse,
        single: NodeAmounts,
        sign: int,
    ) -> None:
        table = used.setdefault(flavor, {})
        for values, count in use.domains:
            amounts = table.setdefault(values, {})
            for resource, amount in single.items():
                amounts[resource] = amounts.get(resource, 0) + sign * amount * count

    def _usage(self) -> Mapping[str, Mapping[LeafKey, NodeAmounts]]:
        if self._used is None:
            self._used = {}
            for namespace, uses in self._uses():
                for use, flavor, single in self._spread(namespace, uses):
                    self._note(self._used, flavor, use, single, 1)
        return self._used

    def _build(self, flavor: str) -> FlavorTree | None:
        levels, placement = self.levels(flavor), self._flavors.get(flavor)
        if levels is None or placement is None:
            return None
        self._spend(_STEPS_TO_BUILD * len(self._nodes))
        labels = placement.labels.items()
        nodes = [
            node
            for node in self._nodes.values()
            if all(node.labels.get(key) == value for key, value in labels) and all(key in node.labels for key in levels)
        ]
        topology = placement.topology_name or ""
        tree = FlavorTree(flavor, topology, levels, placement.tolerations, nodes, self._pods_on)
        for other, table in self._usage().items():
            if self._sees(tree, other):
                for values, amounts in table.items():
                    tree.use(values, amounts, 1)
        return tree

    def _sees(self, tree: FlavorTree, flavor: str) -> bool:
        """Return whether workloads of a flavor count in a tree."""
        if flavor == tree.flavor:
            return True
        if not self.rules.handle_overlapping_flavors or not tree.is_by_hostname:
            return False
        levels = self.levels(flavor)
        return levels is not None and levels[-1] == HOSTNAME

    def _built(self) -> Iterator[CountKeeper]:
        return (keeper for keeper in self._keepers.values() if keeper is not None)


V = TypeVar("V")


def _put(known: dict[str, V], name: str, value: V | None) -> None:
    if value is None:
        known.pop(name, None)
    else:
        known[name] = value
