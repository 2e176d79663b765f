"""What is free and used in every domain of the topologies of one cluster, level by level."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from engine.cluster.model import ClusterModel
from engine.topology.node_inventory import NodeAmounts
from engine.topology.tree import Domain, FlavorTree, LeafDomain

MOST_DOMAINS: Final = 10_000
"""More are not listed, those of lower levels first."""


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """One domain; amounts are in the units that quota is counted in."""

    level: str
    values: tuple[str, ...]
    nodes: int
    capacity: NodeAmounts
    """What its Nodes have to give."""
    used: NodeAmounts
    """What Workloads with a topology assignment use."""
    other: NodeAmounts
    """What other pods use."""
    free: NodeAmounts
    """What is left, added up over its Nodes; a Node that is overfull has nothing left."""


@dataclass(frozen=True, slots=True)
class FlavorRoom:
    """The tree of one flavor."""

    flavor: str
    topology: str
    levels: tuple[str, ...]
    domains: tuple[DomainRoom, ...]
    """Ordered by path, so that a domain comes before those under it."""
    left_out: int
    """How many domains are not listed, because there are too many."""


def topology_room(model: ClusterModel, *, with_lowest: bool) -> tuple[FlavorRoom, ...]:
    """Return the trees of all flavors with a topology, sorted by flavor; the lowest level only if it is asked for."""
    found = []
    for flavor in model.topology.flavors():
        keeper = model.topology.keeper(flavor)
        if keeper is not None:
            found.append(_flavor_room(keeper.tree, with_lowest=with_lowest))
    return tuple(found)


def _flavor_room(tree: FlavorTree, *, with_lowest: bool) -> FlavorRoom:
    depth = len(tree.levels) if with_lowest or len(tree.levels) == 1 else len(tree.levels) - 1
    listed = [domain for level in range(depth) for domain in tree.domains[level]]
    rooms = (_domain_room(tree, domain) for domain in listed[:MOST_DOMAINS])
    domains = tuple(sorted(rooms, key=lambda room: room.values))
    return FlavorRoom(tree.flavor, tree.topology, tree.levels, domains, max(0, len(listed) - MOST_DOMAINS))


def _domain_room(tree: FlavorTree, domain: Domain) -> DomainRoom:
    capacity: dict[str, int] = {}
    used: dict[str, int] = {}
    other: dict[str, int] = {}
    free: dict[str, int] = {}
    nodes = 0
    for leaf in _leaves(domain):
        nodes += len(leaf.nodes)
        given: dict[str, int] = {}
        for node in leaf.nodes:
            _add(given, node.allocatable)
        _add(capacity, given)
        _add(used, leaf.used)
        for resource, amount in given.items():
            left = leaf.free.get(resource, 0)
            other[resource] = other.get(resource, 0) + amount - left
            free[resource] = free.get(resource, 0) + max(0, left - leaf.used.get(resource, 0))
    return DomainRoom(tree.levels[domain.level], domain.values, nodes, capacity, used, other, free)


def _leaves(domain: Domain) -> Iterator[LeafDomain]:
    if isinstance(domain, LeafDomain):
        yield domain
    for child in domain.children:
        yield from _leaves(child)


def _add(total: dict[str, int], amounts: NodeAmounts) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + amount
