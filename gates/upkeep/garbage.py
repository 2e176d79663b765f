"""Which of our objects on a worker no longer have a hub Workload.

Only an object that carries our origin and our hub's identity is ever considered, and it is garbage only after it was
seen without a hub Workload twice, at least an interval apart.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.jobs.belonging import is_ours
from gates.jobs.records import JobRecord
from gates.model.identity import Authorship
from gates.model.marks import FINALIZER, HubIdentity
from gates.wire.records import ReplicaRecord


class Orphan(NamedTuple):
    """An object to be deleted; `kind` is empty for a Workload, else the kind of a job."""

    cluster: WorkerName
    kind: str
    namespace: str
    name: str
    uid: str
    workload: str
    """The Workload that it belonged to; empty for a job that names none."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)


def orphans(
    authorship: Authorship,
    replicas: Iterable[ReplicaRecord],
    jobs: Iterable[tuple[str, JobRecord]],
    identity: HubIdentity,
    lives: Callable[[str, str, str], bool],
    job_lives: Callable[[str, JobRecord], bool],
) -> Iterator[Orphan]:
    """Yield what has no hub Workload now. `lives` is asked by namespace, name and UID; an empty UID means any.

    A job that several Workloads may share, which names none or only the last of its slices, lives as long as the
    hub's job that it copies. What was deleted already is left alone, unless a finalizer is ours to remove.
    """
    for replica in replicas:
        if replica.is_variant or (replica.deleted and FINALIZER not in replica.finalizers):
            continue  # a variant goes with the Workload that it is one of
        is_own = identity.owns(replica.origin, replica.hub) and authorship.wrote(replica.cluster)
        if is_own and not lives(replica.namespace, replica.name, replica.hub_uid):
            yield Orphan(authorship.name, "", replica.namespace, replica.name, replica.uid, replica.name)
    for kind, job in jobs:
        if job.deleted or not is_ours(job, identity, authorship):
            continue
        is_alive = bool(job.workload) and lives(job.namespace, job.workload, "")
        is_shared = job.elastic or not job.workload
        if not is_alive and not (is_shared and job_lives(kind, job)):
            yield Orphan(authorship.name, kind, job.namespace, job.name, job.uid, job.workload)


class Sightings:
    """Remembers since when each orphan has been one."""

    def __init__(self) -> None:
        self._since: dict[Orphan, int] = {}

    def ripe(self, found: Iterable[Orphan], now_ns: int, interval_ns: int) -> list[Orphan]:
        """Return what was an orphan at an observation at least an interval ago and has been one ever since."""
        present = set(found)
        self._since = {orphan: self._since.get(orphan, now_ns) for orphan in present}
        return sorted(orphan for orphan, since in self._since.items() if now_ns - since >= interval_ns)
