"""Dominant resource shares: how much a ClusterQueue or Cohort borrows, against what it could borrow, per weight.

A share is a pair that compares as Kueue compares shares: a borrower of weight zero stands above all others, and among
themselves such borrowers compare by the plain ratio. Doubles are used exactly as Kueue uses them, so that equal stays
equal. The share of a node is kept on the node until its usage changes.
"""

from typing import Final

from engine.quota.quota_tree import CohortNode, QuotaNode

Share = tuple[int, float]

NO_SHARE: Final[Share] = (0, 0.0)
_ORDINARY: Final = 0
_WEIGHTLESS_BORROWER: Final = 1


def share_of(node: QuotaNode) -> Share:
    """Return the node's share and leave on the node whether it borrows anything at all."""
    share = node.share
    if share is None:
        share = node.share = _compute(node)
    return share


def _compute(node: QuotaNode) -> Share:
    node.is_borrowing = False
    if node.parent is None:
        return NO_SHARE
    borrowed: dict[str, int] = {}
    for resource, cell in node.known_cells:
        if cell.usage > cell.subtree_quota or not cell.is_ordinary:
            more = cell.sub(cell.usage, cell.subtree_quota)
            if more > 0:
                borrowed[resource] = cell.add(borrowed.get(resource, 0), more)
    if not borrowed:
        return NO_SHARE
    node.is_borrowing = True
    lendable = _lendable(node.parent)
    ratio = 0.0
    for resource, amount in borrowed.items():
        capacity = lendable.get(resource, 0)
        if capacity > 0:
            ratio = max(ratio, float(amount) * 1000.0 / float(capacity))
    if ratio == 0.0:
        return NO_SHARE
    if node.weight == 0.0:
        return _WEIGHTLESS_BORROWER, ratio
    return _ORDINARY, ratio / node.weight


def _lendable(cohort: CohortNode) -> dict[str, int]:
    """Return what the cohort could use of each resource if nothing were used, over all flavors of its tree."""
    if cohort.lendable is None:
        root = cohort
        while root.parent is not None:
            root = root.parent
        lendable: dict[str, int] = {}
        for fr, cell in list(root.cells.items()):
            if cell.is_known:
                lendable[fr.resource] = cell.add(lendable.get(fr.resource, 0), cohort.cell(fr).potential)
        cohort.lendable = lendable
    return cohort.lendable
