"""What is kept of a pod on a worker: its value for the engine, whose it is, and when the scheduler evicted it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, Final

from config.api.meta import ObjectKey, parse_time
from config.names import KUEUE_GROUP
from engine.pods.state.model import PodModel
from engine.pods.values.values import BoundPod, PendingPod

_WORKLOAD: Final = f"{KUEUE_GROUP}/workload"
_OF_WORKLOAD: Final = "Workload "


@dataclass(frozen=True, slots=True)
class WatchedPod:
    """One pod."""

    pod: BoundPod | PendingPod | None
    """None once it is over."""
    job: str = ""
    """`Workload` and its name where the pod names it, else the kind and the name of its controller."""
    evicted_ns: int = 0
    """When the scheduler evicted it, 0 if it did not."""


def read_watched_pod(model: PodModel, raw: Mapping[str, Any]) -> WatchedPod:
    """Reduce a raw pod; raises ValueError for what is malformed."""
    return WatchedPod(model.read("Pod", raw), _job(raw["metadata"]), _evicted_ns(raw.get("status") or {}))


class PodPlaces:
    """Finds the pods of a Workload."""

    def __init__(self) -> None:
        self._by_job: dict[tuple[str, str], set[str]] = {}
        self._job_of: dict[ObjectKey, str] = {}

    def put(self, key: ObjectKey, pod: WatchedPod | None) -> None:
        """Take a pod, None when it is gone."""
        job = pod.job if pod is not None else ""
        before = self._job_of.get(key, "")
        if before == job:
            return
        if before:
            names = self._by_job[key.namespace, before]
            names.discard(key.name)
            if not names:
                del self._by_job[key.namespace, before]
            del self._job_of[key]
        if job:
            self._by_job.setdefault((key.namespace, job), set()).add(key.name)
            self._job_of[key] = job

    def of(self, workload: ObjectKey, owner: str = "") -> Iterator[ObjectKey]:
        """Yield the pods of a Workload, sorted by name."""
        for job in (f"{_OF_WORKLOAD}{workload.name}", owner):
            names: Collection[str] = self._by_job.get((workload.namespace, job), ()) if job else ()
            yield from (ObjectKey(workload.namespace, name) for name in sorted(names))

    def is_of(self, key: ObjectKey, workload: ObjectKey, owner: str = "") -> bool:
        """Return whether a pod belongs to a Workload."""
        job = self._job_of.get(key, "")
        return key.namespace == workload.namespace and job in (f"{_OF_WORKLOAD}{workload.name}", owner or None)


def _job(metadata: Mapping[str, Any]) -> str:
    workload = (metadata.get("annotations") or {}).get(_WORKLOAD)
    if workload:
        return intern(f"{_OF_WORKLOAD}{workload}")
    owners = metadata.get("ownerReferences") or ()
    controller = next((owner for owner in owners if owner.get("controller")), None)
    return intern(f"{controller.get('kind')} {controller.get('name')}") if controller is not None else ""


def _evicted_ns(status: Mapping[str, Any]) -> int:
    for entry in status.get("conditions") or ():
        is_target = entry.get("type") == "DisruptionTarget" and entry.get("status") == "True"
        if is_target and entry.get("reason") == "PreemptionByScheduler":
            at = entry.get("lastTransitionTime")
            return parse_time(at) if at else 1
    return 0
