"""The domains of one TAS flavor as a tree over its Nodes, and what is free on the leaves.

The shape of a tree never changes; a change of a Node, its flavor or its Topology makes a new tree. Usage does change:
every change is noted in a journal, so that what was counted before is brought up to date leaf by leaf and not anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from engine.placement.taints import Toleration
from engine.topology.node_inventory import NodeAmounts, TopologyNode
from engine.vocabulary.topology import HOSTNAME

_JOURNAL_SLACK: Final = 4096
"""So many changes are noted before those who have not read them start over."""

LeafKey = tuple[str, ...]
"""What a topologyAssignment calls a leaf: its hostname where that is the lowest level, otherwise all its values."""


class Domain:
    """A node of the tree."""

    __slots__ = ("children", "index", "level", "parent", "values")

    def __init__(self, level: int, values: tuple[str, ...], parent: "Domain | None") -> None:
        self.level: Final = level
        self.values: Final = values
        self.parent = parent
        self.children: list[Domain] = []
        self.index = 0
        """Its place among the domains of its level, which are ordered by their values."""


class LeafDomain(Domain):
    """A domain of the lowest level: usually one Node."""

    __slots__ = ("assumed", "free", "key", "nodes", "used")

    def __init__(self, level: int, values: tuple[str, ...], parent: Domain | None, key: LeafKey) -> None:
        super().__init__(level, values, parent)
        self.key: Final = key
        self.nodes: list[TopologyNode] = []
        self.free: dict[str, int] = {}
        """What its Nodes can give, less the pods that have no topology assignment."""
        self.used: dict[str, int] = {}
        """What workloads with a topology assignment use."""
        self.assumed: dict[str, int] | None = None
        """What pod sets of the workload in question that were placed before take."""


class FlavorTree:
    """The tree of one flavor, with its usage."""

    def __init__(
        self,
        flavor: str,
        topology: str,
        levels: tuple[str, ...],
        tolerations: tuple[Toleration, ...],
        nodes: Iterable[TopologyNode],
        non_tas_usage: Mapping[str, NodeAmounts],
    ) -> None:
        self.flavor: Final = flavor
        self.topology: Final = topology
        self.levels: Final = levels
        self.tolerations: Final = tolerations
        self.is_by_hostname: Final = levels[-1] == HOSTNAME
        self.by_key: Final[dict[LeafKey, LeafDomain]] = {}
        self._by_node: Final[dict[str, LeafDomain]] = {}
        self.contested_hosts: list[str] = []
        """Hostnames that several unlike Nodes share: Kueue takes the one that it happens to meet first."""
        for node in sorted(nodes, key=lambda each: each.name):
            self._add_node(node, non_tas_usage.get(node.name))
        self.leaves: Final = sorted(self.by_key.values(), key=lambda leaf: leaf.values)
        self.domains: Final[list[Sequence[Domain]]] = self._arranged()
        self.journal: list[int] = []
        """Indexes of leaves whose usage changed, in order."""
        self.epoch = 0
        """Grows when the journal starts over."""

    def use(self, key: LeafKey, single: NodeAmounts, count: int) -> None:
        """Count pods of a workload on a leaf, or with a negative count no longer; a leaf that is gone is ignored."""
        leaf = self.by_key.get(key)
        if leaf is not None:
            _add_amounts(leaf.used, single, count)
            self._changed(leaf.index)

    def take_from_node(self, node: str, amounts: NodeAmounts, count: int) -> None:
        """Count a pod without a topology assignment on a Node, or with a negative count no longer."""
        leaf = self._by_node.get(node)
        if leaf is not None:
            _add_amounts(leaf.free, amounts, -count)
            self._changed(leaf.index)

    def assume(self, key: LeafKey, single: NodeAmounts, count: int) -> None:
        """Take room for pods of the workload in question; `forget_assumed` gives it back."""
        leaf = self.by_key.get(key)
        if leaf is not None:
            if leaf.assumed is None:
                leaf.assumed = {}
            _add_amounts(leaf.assumed, single, count)
            self._changed(leaf.index)

    def forget_assumed(self, keys: Iterable[LeafKey]) -> None:
        """Give back the room of pods that were placed before."""
        for key in keys:
            leaf = self.by_key.get(key)
            if leaf is not None and leaf.assumed is not None:
                leaf.assumed = None
                self._changed(leaf.index)

    def _changed(self, index: int) -> None:
        if len(self.journal) > _JOURNAL_SLACK + len(self.leaves):
            self.journal.clear()
            self.epoch += 1
        self.journal.append(index)

    def _add_node(self, node: TopologyNode, non_tas_usage: NodeAmounts | None) -> None:
        values = tuple(node.labels[level] for level in self.levels)
        key = values[-1:] if self.is_by_hostname else values
        leaf = self.by_key.get(key)
        if leaf is None:
            leaf = self.by_key[key] = LeafDomain(len(self.levels) - 1, values, None, key)
        elif self.is_by_hostname and not _is_alike(leaf.nodes[0], node):
            self.contested_hosts.append(key[0])
        leaf.nodes.append(node)
        self._by_node[node.name] = leaf
        _add_amounts(leaf.free, node.allocatable, 1)
        if non_tas_usage is not None:
            _add_amounts(leaf.free, non_tas_usage, -1)

    def _arranged(self) -> list[Sequence[Domain]]:
        """Hang the leaves under their domains and number the domains of each level."""
        inner: dict[tuple[str, ...], Domain] = {}
        arranged: list[Sequence[Domain]] = []
        for level in range(len(self.levels) - 1):
            found: list[Domain] = []
            for leaf in self.leaves:
                values = leaf.values[: level + 1]
                if values not in inner:
                    parent = inner.get(values[:-1])
                    domain = inner[values] = Domain(level, values, parent)
                    found.append(domain)
                    if parent is not None:
                        parent.children.append(domain)
            arranged.append(found)
        for leaf in self.leaves:
            parent = inner.get(leaf.values[:-1])
            if parent is not None:
                leaf.parent = parent
                parent.children.append(leaf)
        arranged.append(self.leaves)
        for domains in arranged:
            for index, domain in enumerate(domains):
                domain.index = index
        return arranged


def _is_alike(one: TopologyNode, other: TopologyNode) -> bool:
    return one.taints == other.taints and one.labels == other.labels


def _add_amounts(total: dict[str, int], single: NodeAmounts, count: int) -> None:
    for resource, amount in single.items():
        total[resource] = total.get(resource, 0) + amount * count
