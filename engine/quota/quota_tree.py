"""Quota arithmetic over the tree of cohorts and ClusterQueues, one flavor and resource at a time.

A node (ClusterQueue or Cohort) has one cell per flavor and resource that it or something below it knows. A cell holds
what the node may use and what is used of it; the cells of one flavor and resource form a tree of their own, so that
every question about quota walks a handful of cells and never looks at workloads.

Invariant: the usage of a cohort's cell is the sum over its children of what exceeds the part they keep for themselves.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from engine.versions.amounts import EXACT_AMOUNTS, Amounts
from engine.vocabulary.flavor_resource import FlavorResource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.cluster.cluster_queue import ClusterQueue


class Quota(NamedTuple):
    """What a spec grants of one flavor and resource; a limit of None does not limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


_NO_QUOTA: Final = Quota(0)

_ORDINARY: Final = 2**61
"""Amounts below this neither mean "unlimited" nor saturate when two of them meet: plain integers will do."""


class QuotaCell:
    """What one node has and uses of one flavor and resource."""

    __slots__ = (
        "add",
        "below_root",
        "borrowing_limit",
        "is_known",
        "is_ordinary",
        "lineage",
        "local_quota",
        "node",
        "nominal",
        "parent",
        "potential",
        "sub",
        "subtree_quota",
        "usage",
    )

    def __init__(self, node: "QuotaNode", parent: "QuotaCell | None") -> None:
        self.node = node
        self.add: Final = node.amounts.add
        self.sub: Final = node.amounts.sub
        self.nominal = 0
        self.borrowing_limit: int | None = None
        self.is_known = False  # by a quota here or below: only such cells count for fair sharing
        self.is_ordinary = True  # no quota or limit of this cell is too large for plain integers
        self.subtree_quota = 0
        self.local_quota = 0  # the part of the subtree's quota that is never lent
        self.usage = 0
        self.potential = 0  # what could be used if nothing were
        self.parent: QuotaCell | None = None
        self.lineage: tuple[QuotaCell, ...] = (self,)  # from the root down to this cell
        self.below_root: tuple[QuotaCell, ...] = ()
        self.link(parent)

    def link(self, parent: "QuotaCell | None") -> None:
        """Hang the cell under its parent, whose numbers are final, and derive what depends on the ancestors."""
        self.parent = parent
        limits = (self.subtree_quota, self.local_quota, self.borrowing_limit or 0)
        self.is_ordinary = all(-_ORDINARY < limit < _ORDINARY for limit in limits)
        if parent is None:
            self.lineage, self.below_root = (self,), ()
            self.potential = self.subtree_quota
            return
        self.lineage, self.below_root = (*parent.lineage, self), (*parent.below_root, self)
        potential = self.add(self.local_quota, parent.potential)
        if self.borrowing_limit is not None:
            potential = min(self.add(self.subtree_quota, self.borrowing_limit), potential)
        self.potential = potential

    def local_available(self) -> int:
        """Return what is unused of the part that only this subtree can see."""
        return max(0, self.sub(self.local_quota, self.usage))

    def available(self) -> int:
        """Return what could be used more right now, here or borrowed; negative when over-admitted."""
        add, sub = self.add, self.sub
        root = self.lineage[0]
        result = sub(root.subtree_quota, root.usage)
        for cell in self.below_root:
            local, usage, limit = cell.local_quota, cell.usage, cell.borrowing_limit
            if limit is not None:
                unused_in_parent = sub(sub(cell.subtree_quota, local), max(0, sub(usage, local)))
                result = min(add(unused_in_parent, limit), result)
            if local > usage:
                result = add(max(0, sub(local, usage)), result)
        return result

    def borrows_with(self, amount: int) -> bool:
        """Return whether using `amount` more would exceed the quota of this subtree."""
        return self.subtree_quota < self.add(self.usage, amount)


class UsageChanges:
    """Changes usage for a while: everything touched is remembered and put back exactly by `undo`."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: dict[QuotaCell, int] = {}

    def add(self, cell: QuotaCell | None, amount: int) -> None:
        """Add usage to a cell; what exceeds its local quota reaches the parent."""
        before = self._before
        while cell is not None:
            usage = cell.usage
            if cell not in before:
                before[cell] = usage
            cell.node.share = None
            if cell.is_ordinary and -_ORDINARY < usage < _ORDINARY and amount < _ORDINARY:
                cell.usage = usage + amount
                spare = cell.local_quota - usage
            else:
                cell.usage = cell.add(usage, amount)
                spare = cell.sub(cell.local_quota, usage)
            if spare > 0:
                if amount <= spare:
                    return
                amount = cell.sub(amount, spare)
            elif amount <= 0:
                return
            cell = cell.parent

    def remove(self, cell: QuotaCell | None, amount: int) -> None:
        """Take usage from a cell, and from its parent what the cell had stored there."""
        before = self._before
        while cell is not None:
            usage = cell.usage
            if cell not in before:
                before[cell] = usage
            cell.node.share = None
            if cell.is_ordinary and -_ORDINARY < usage < _ORDINARY and amount < _ORDINARY:
                cell.usage = usage - amount
                stored_in_parent = usage - cell.local_quota
            else:
                cell.usage = cell.sub(usage, amount)
                stored_in_parent = cell.sub(usage, cell.local_quota)
            if stored_in_parent <= 0:
                return
            amount = min(amount, stored_in_parent)
            cell = cell.parent

    def undo(self) -> None:
        """Put back what was there before the first change."""
        for cell, usage in self._before.items():
            cell.usage = usage
            cell.node.share = None
        self._before.clear()


class QuotaNode:
    """A ClusterQueue or a Cohort as a place in the quota tree."""

    __slots__ = (
        "amounts",
        "cells",
        "is_borrowing",
        "known_cells",
        "lendable",
        "name",
        "parent",
        "quotas",
        "share",
        "weight",
    )

    def __init__(self, name: str, amounts: Amounts = EXACT_AMOUNTS) -> None:
        self.name: Final = name
        self.amounts: Final = amounts
        self.parent: CohortNode | None = None
        self.quotas: Mapping[FlavorResource, Quota] = {}
        self.weight = 1.0
        self.cells: dict[FlavorResource, QuotaCell] = {}
        self.known_cells: tuple[tuple[str, QuotaCell], ...] = ()
        # Caches of `engine.quota.shares`; `share` is dropped when usage changes, `lendable` when a quota changes.
        self.share: tuple[int, float] | None = None
        self.is_borrowing = False
        self.lendable: dict[str, int] | None = None

    def cell(self, fr: FlavorResource) -> QuotaCell:
        """Return the cell of a flavor and resource, an empty one if nothing is known of it."""
        cell = self.cells.get(fr)
        if cell is None:
            parent = self.parent.cell(fr) if self.parent is not None else None
            cell = self.cells[fr] = QuotaCell(self, parent)
        return cell

    def is_within_nominal(self, frs: frozenset[FlavorResource]) -> bool:
        """Return whether none of these is borrowed from outside this subtree."""
        cells = self.cells
        for fr in frs:
            cell = cells.get(fr)
            if cell is not None and cell.subtree_quota < cell.usage:
                return False
        return True

    def ancestors(self) -> "list[CohortNode]":
        """Return the cohorts above, nearest first."""
        path = []
        node = self.parent
        while node is not None:
            path.append(node)
            node = node.parent
        return path

    def settle_own(self) -> None:
        """Bring the cells in line with the node's own quotas; sums over children come on top of it."""
        for fr in self.quotas:
            if fr not in self.cells:
                self.cells[fr] = QuotaCell(self, None)
        for fr, cell in self.cells.items():
            quota = self.quotas.get(fr, _NO_QUOTA)
            cell.nominal = cell.subtree_quota = quota.nominal
            cell.borrowing_limit = quota.borrowing_limit
            cell.is_known = fr in self.quotas

    def settle_local_quotas(self) -> None:
        """Derive what is never lent, once the subtree's quota is known."""
        for fr, cell in self.cells.items():
            limit = self.quotas.get(fr, _NO_QUOTA).lending_limit
            cell.local_quota = 0 if limit is None else max(0, cell.sub(cell.subtree_quota, limit))

    def link_cells(self) -> None:
        """Hang every cell under its parent's cell and drop what was cached about quota."""
        parent = self.parent
        for fr, cell in self.cells.items():
            cell.link(parent.cell(fr) if parent is not None else None)
        self.known_cells = tuple((fr.resource, cell) for fr, cell in self.cells.items() if cell.is_known)
        self.share = None
        self.lendable = None


class CohortNode(QuotaNode):
    """A cohort: an inner node, real or only referred to."""

    __slots__ = ("active_queues", "child_cohorts", "child_queues", "height")

    def __init__(self, name: str, amounts: Amounts = EXACT_AMOUNTS) -> None:
        super().__init__(name, amounts)
        self.child_cohorts: list[CohortNode] = []
        self.child_queues: list[ClusterQueue] = []
        self.active_queues: list[ClusterQueue] = []
        self.height = 0  # the longest way down to an active ClusterQueue

    def accumulate(self, child: QuotaNode) -> None:
        """Add what a settled child lends to this cohort and what it uses of it."""
        add, sub = self.amounts.add, self.amounts.sub
        for fr, below in child.cells.items():
            cell = self.cells.get(fr)
            if cell is None:
                cell = self.cells[fr] = QuotaCell(self, None)
            if below.is_known:
                cell.is_known = True
                cell.subtree_quota = add(cell.subtree_quota, sub(below.subtree_quota, below.local_quota))
            cell.usage = add(cell.usage, max(0, sub(below.usage, below.local_quota)))


def settle_tree(root: QuotaNode) -> None:
    """Recompute quota sums, usage sums and heights of a whole tree from its specs and its ClusterQueues' usage."""
    _settle_upwards(root)
    _link_downwards(root)


def _settle_upwards(node: QuotaNode) -> None:
    node.settle_own()
    if isinstance(node, CohortNode):
        for cell in node.cells.values():
            cell.usage = 0
        height = 1 if node.active_queues or node.child_cohorts else 0
        for cohort in node.child_cohorts:
            _settle_upwards(cohort)
            node.accumulate(cohort)
            height = max(height, cohort.height + 1)
        for queue in node.child_queues:
            _settle_upwards(queue)
            node.accumulate(queue)
        node.height = height
    node.settle_local_quotas()


def _link_downwards(node: QuotaNode) -> None:
    node.link_cells()
    if isinstance(node, CohortNode):
        for child in (*node.child_cohorts, *node.child_queues):
            _link_downwards(child)


def lowest_fit(cell: QuotaCell, amount: int) -> tuple[int, bool]:
    """Return the height of the smallest subtree around a ClusterQueue that has room for `amount`.

    Also returns whether quota outside that subtree exists, from which it could be reclaimed.
    """
    parent = cell.parent
    if parent is None or not cell.borrows_with(amount):
        return 0, parent is not None
    remaining = cell.sub(amount, cell.local_available())
    while True:
        cohort = parent.node
        assert isinstance(cohort, CohortNode)  # noqa: S101 - a parent is a cohort by construction
        if not parent.borrows_with(remaining):
            return cohort.height, parent.parent is not None
        remaining = cell.sub(remaining, parent.local_available())
        if parent.parent is None:
            return cohort.height, False
        parent = parent.parent
