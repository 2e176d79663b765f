"""What of ours on a worker has no hub Workload any more.

Only an object that carries our origin and our hub's identity is ever looked at, and it is garbage only after it was
seen without a hub Workload twice, at least an interval apart.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gates.jobs.records import JobRecord
from gates.marks import HubIdentity
from gates.records import ReplicaRecord


@dataclass(frozen=True, slots=True, order=True)
class Orphan:
    """An object to be deleted; `kind` is empty for a Workload, else the kind of a job."""

    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    workload: str
    """The Workload that it belonged to; empty for a job that names none."""


def orphans(
    cluster: str,
    replicas: Iterable[ReplicaRecord],
    jobs: Iterable[tuple[str, JobRecord]],
    identity: HubIdentity,
    lives: Callable[[str, str, str], bool],
    job_lives: Callable[[str, JobRecord], bool],
) -> Iterator[Orphan]:
    """Yield what has no hub Workload now. `lives` is asked by namespace, name and UID; an empty UID means any.

    A job that names no Workload, as kinds with several of them do, lives as long as the hub's job that it copies.
    """
    for replica in replicas:
        if replica.is_variant:
            continue  # it goes with the Workload that it is a variant of
        if identity.owns(replica.origin, replica.hub) and not lives(replica.namespace, replica.name, replica.hub_uid):
            yield Orphan(cluster, "", replica.namespace, replica.name, replica.uid, replica.name)
    for kind, job in jobs:
        if not identity.owns(job.origin, job.hub):
            continue
        is_alive = lives(job.namespace, job.workload, "") if job.workload else job_lives(kind, job)
        if not is_alive:
            yield Orphan(cluster, kind, job.namespace, job.name, job.uid, job.workload)


class Sightings:
    """Remembers since when each orphan has been one."""

    def __init__(self) -> None:
        self._since: dict[Orphan, int] = {}

    def ripe(self, found: Iterable[Orphan], now_ns: int, interval_ns: int) -> list[Orphan]:
        """Return what was an orphan at an observation at least an interval ago and has been one ever since."""
        present = set(found)
        self._since = {orphan: self._since.get(orphan, now_ns) for orphan in present}
        return sorted(orphan for orphan, since in self._since.items() if now_ns - since >= interval_ns)
