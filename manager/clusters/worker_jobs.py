"""The caches of one worker's jobs: one for each kind of job, indexed by the Workload that a job names."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from config.api.meta import ObjectKey
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from manager.base.kinds import api_kind
from workerclient.cluster import ClusterClient, WatchedResource
from workerclient.objects.watched import WatchedKind

_BY_WORKLOAD: Final = "workload"

OnJob = Callable[[JobKind, ObjectKey, tuple[ObjectKey, ...]], None]
JobCaches = dict[str, WatchedResource[JobRecord]]


def follow_jobs(client: ClusterClient, kinds: Sequence[JobKind], selector: str, on_job: OnJob) -> JobCaches:
    """Follow the jobs that a selector matches; return what is followed by kind."""
    return {kind.gvk: _follow(client, kind, selector, on_job) for kind in kinds}


def jobs_of(caches: JobCaches, workload: ObjectKey) -> list[tuple[str, JobRecord]]:
    """Return the jobs that name a Workload, with their kinds."""
    found = []
    for gvk, followed in caches.items():
        if len(followed.cache) == 0:
            continue
        for key in followed.cache.keys_in(_BY_WORKLOAD, workload):
            job = followed.cache.get(key)
            if isinstance(job, JobRecord):
                found.append((gvk, job))
    return found


def _follow(client: ClusterClient, kind: JobKind, selector: str, on_job: OnJob) -> WatchedResource[JobRecord]:
    def notice(key: ObjectKey) -> None:
        job = followed.cache.get(key)
        on_job(kind, key, tuple(_workload_of(job)) if isinstance(job, JobRecord) else ())

    followed: WatchedResource[JobRecord] = client.follow(
        WatchedKind(
            api_kind(kind),
            job_reader(kind),
            label_selector=selector,
            required=False,
            indexes={_BY_WORKLOAD: _workload_of},
            on_change=notice,
        )
    )
    return followed


def _workload_of(job: JobRecord) -> Iterable[ObjectKey]:
    return (ObjectKey(job.namespace, job.workload),) if job.workload else ()
