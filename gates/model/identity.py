"""Which worker's name stands for which cluster, when one cluster has several names or one name changes its cluster.

A cluster is identified by the UID of its namespace kube-system. A worker's role may not allow that to be read; such a
worker is used like before, and what another configured name wrote there is left alone. The marks of our own objects
show the rest: an object that was written under a name that is no longer configured shows that this name led here.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from config.api.identifiers import NO_WORKER, ClusterUID, WorkerName
from gates.model.activity import Health

DUPLICATE: Final = "DuplicateCluster"
CHANGED: Final = "ClusterChanged"
UNIDENTIFIED: Final = "ClusterUnidentified"
WITHHELD: Final = ClusterUID("")
"""The reading of a worker whose role does not allow its identity to be read."""


@dataclass(frozen=True, slots=True)
class WorkerClaim:
    """One configured worker and what it says of itself."""

    name: WorkerName
    uid: ClusterUID | None = None
    """The UID that was last read through its connection; None while nothing was, `WITHHELD` where that is refused."""
    is_listed: bool = False
    """Whether a MultiKueueConfig that one of our checks leads to names it."""
    seniority: tuple[int, int] = (0, 0)
    """The file's entries in their order, then MultiKueueClusters by creation."""
    marks: frozenset[WorkerName] = frozenset()
    """The names in the marks of this hub's replicas there; an empty one where an earlier version wrote none."""


@dataclass(frozen=True, slots=True)
class KnownCluster:
    """Which cluster a name was known to lead to, and since when; `since_ns` is None before that was written down."""

    uid: ClusterUID
    since_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Authorship:
    """Which objects a connection may treat as its own."""

    name: WorkerName = NO_WORKER
    is_proven: bool = False
    """Whether its cluster is known, so that no other connection acts there."""
    unproven: frozenset[WorkerName] = frozenset()
    """The other names that may lead to the same cluster, for all that is known."""
    former: frozenset[WorkerName] = frozenset()
    """Names that are no longer configured and were found to have led here."""

    def wrote(self, mark: WorkerName) -> bool:
        """Tell whether an object with this name in its mark is ours to change; earlier versions wrote no name."""
        if mark == self.name or mark in self.former:
            return True
        return mark not in self.unproven if self.is_proven else not mark


@dataclass(frozen=True, slots=True)
class Names:
    """What follows from all claims."""

    refused: Mapping[WorkerName, Health] = field(default_factory=dict)
    """The workers that are connected and must not be used."""
    aliases: Mapping[WorkerName, WorkerName] = field(default_factory=dict)
    """Names that are not in use themselves, each with the worker that leads to the same cluster."""
    proven: Mapping[WorkerName, ClusterUID] = field(default_factory=dict)
    """The workers in use whose cluster is known, with its UID."""
    unproven: frozenset[WorkerName] = frozenset()
    """The configured names that may lead to any cluster."""
    recorded: Mapping[WorkerName, ClusterUID] = field(default_factory=dict)
    """The cluster that each name leads to, or led to when it was last seen."""
    unread: frozenset[WorkerName] = frozenset()
    """The configured workers that did not say yet which cluster they are."""

    def authorship(self, name: WorkerName) -> Authorship:
        """Return what a worker may treat as its own."""
        former = frozenset(each for each, current in self.aliases.items() if current == name) - self.refused.keys()
        return Authorship(name, name in self.proven, self.unproven - {name}, former)

    def current(self, name: WorkerName) -> WorkerName:
        """Return the worker that a name stands for."""
        return self.aliases.get(name, name)

    def may_turn_out_as(self, name: WorkerName, other: WorkerName) -> bool:
        """Tell whether a worker that said nothing yet, or is not there yet, may be a new name of another's cluster."""
        if other in self.refused or other in self.proven or (other in self.unproven and other not in self.unread):
            return False
        uids = {self.recorded.get(name), self.recorded.get(other)} - {None}
        return len(uids) < 2


def resolve(
    claims: Iterable[WorkerClaim],
    known: Mapping[WorkerName, KnownCluster],
    hub_uid: ClusterUID,
    given_up: Collection[WorkerName],
) -> Names:
    """Decide which worker is used for each cluster; `given_up` are the names that were missing for too long.

    Of several names for one cluster the first is used: listed before unlisted, then the one that was known first, so
    that no worker takes a cluster away from another by claiming its UID, then the oldest.
    """
    claimed = {claim.name: claim for claim in claims}
    refused = {name: health for name, claim in claimed.items() if (health := _refuse(claim, known, hub_uid, given_up))}
    clusters = {name: uid for name, claim in claimed.items() if name not in refused and (uid := _uid(claim, known))}
    used: dict[ClusterUID, WorkerName] = {}
    for name in sorted(clusters, key=lambda each: _precedence(claimed[each], known)):
        first = used.setdefault(clusters[name], name)
        if first != name and claimed[name].uid is not None:
            refused[name] = _duplicate(f'cluster as "{first}"')
    proven = {name: uid for uid, name in used.items() if claimed[name].uid == uid}
    recorded = {name: each.uid for name, each in known.items()} | clusters
    aliases = {
        name: used[uid]
        for name, uid in recorded.items()
        if (name in refused or name not in claimed) and uid in used and used[uid] != name
    }
    for name in sorted(claimed.keys() - refused.keys(), key=lambda each: _precedence(claimed[each], known)):
        for mark in claimed[name].marks - claimed.keys() - {""}:
            if not {mark, name} <= recorded.keys():  # two that are known are compared by what is known
                aliases.setdefault(mark, name)
    unproven = frozenset(name for name, claim in claimed.items() if name not in refused and not _uid(claim, known))
    unread = frozenset(name for name, claim in claimed.items() if claim.uid is None)
    return Names(refused, aliases, proven, unproven, recorded, unread)


def _uid(claim: WorkerClaim, known: Mapping[WorkerName, KnownCluster]) -> ClusterUID:
    """Return the cluster behind a claim, as far as it is known or was."""
    return claim.uid or (known[claim.name].uid if claim.name in known else WITHHELD)


def _refuse(
    claim: WorkerClaim, known: Mapping[WorkerName, KnownCluster], hub_uid: ClusterUID, given_up: Collection[WorkerName]
) -> Health | None:
    if claim.uid is None:
        return None
    if claim.uid == hub_uid:
        return _duplicate("cluster as the hub, which cannot be its own worker")
    before = known.get(claim.name)
    if before is None or before.uid == claim.uid or claim.name in given_up:
        return None
    if claim.uid == WITHHELD:
        return None if claim.marks & {claim.name, ""} else _unidentified(before.uid)
    message = (
        f"the kubeconfig leads to another cluster (kube-system has UID {claim.uid}, before it was {before.uid}); "
        "it is not used until the previous one counts as lost"
    )
    return Health(is_active=False, reason=CHANGED, message=message)


def _unidentified(before: ClusterUID) -> Health:
    message = (
        f"its role no longer allows get on namespaces kube-system, whose UID was {before}, and nothing written under "
        "this name is there: it may be another cluster (apply deploy/rbac/worker.yaml there); it is not used "
        "until the previous one counts as lost"
    )
    return Health(is_active=False, reason=UNIDENTIFIED, message=message)


def _duplicate(of: str) -> Health:
    message = f"this is the same {of}; nothing is dispatched or removed under this name"
    return Health(is_active=False, reason=DUPLICATE, message=message)


def _precedence(
    claim: WorkerClaim, known: Mapping[WorkerName, KnownCluster]
) -> tuple[bool, bool, int, tuple[int, int], str]:
    before = known.get(claim.name)
    since = before.since_ns if before is not None and before.uid == _uid(claim, known) else None
    return (not claim.is_listed, since is None, since or 0, claim.seniority, claim.name)
