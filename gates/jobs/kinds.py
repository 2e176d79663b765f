"""The kinds of job that can run on a worker, one row each.

A platform adds a row of its own in the configuration; nothing else in the code knows a kind by name.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

Path = tuple[str, ...]


class StatusSync(StrEnum):
    """What comes back from the worker."""

    WHOLE = "whole"
    BATCH_JOB = "batch-job"
    """Not while the hub's job is suspended and the remote one runs."""
    POD = "pod"
    """Except the hub's own scheduling condition while its pod is gated."""
    NOTHING = "nothing"
    """The hub's controller of that kind would overwrite it."""


@dataclass(frozen=True, slots=True)
class ItemSizes:
    """Groups of pods in a list. The numbers of a group, multiplied, are its pods; a number that is absent is 1, and one
    beyond the first that is 0 counts as 1.

    Each group is the pod set of its name in small letters.
    """

    path: Path
    name: str
    """The field that names a group."""
    factors: tuple[str, ...]
    autoscaling: Path
    """Where a job says that the worker sizes it itself; then the hub cannot."""
    least: str = ""
    """The field below which a worker does not let the first number of a running group fall."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """One kind: names, where it says who manages it, and what to leave out of the copy."""

    group: str
    version: str
    kind: str
    plural: str
    managed_by: Path | None = ("spec", "managedBy")
    """Where the job names its manager; None for kinds that cannot."""
    status: StatusSync = StatusSync.WHOLE
    drop: tuple[Path, ...] = ()
    """Fields of the hub's object that a controller on the hub filled in."""
    drop_labels: tuple[tuple[Path, str], ...] = ()
    """Labels, by the path of their map, that a controller on the hub filled in."""
    prebuilt: bool = True
    """The worker's Kueue finds the replica by name; kinds with several Workloads find theirs by the origin's UID."""
    grouped_by: str = ""
    """Label that joins several objects to one Workload."""
    drop_items: tuple[tuple[Path, str, str], ...] = ()
    """Items of a list, by its path and the value of one of their fields, that Kueue on the hub filled in."""
    forward: tuple[Path, ...] = ()
    """Fields whose later changes on the hub are taken over by the running copy."""
    forward_elastic_only: bool = False
    """Take them over only for elastic jobs."""
    size_limit: Path | None = None
    """Where an elastic job says how many pods it has at most, whatever its size."""
    groups: ItemSizes | None = None
    """Where an elastic kind made of several groups of pods says how large each one is."""
    size: Path | None = None
    """Where a kind that has one Workload per replica says how many replicas it has."""
    integration: str = ""
    """The name by which configurations switch the kind on; Kueue's name of the integration."""

    @property
    def is_changed_on_workers(self) -> bool:
        """Return whether a running copy may take something over from the hub."""
        return bool(self.forward) or self.groups is not None

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> str:
        """Write group, version and kind as Kueue's messages do."""
        return f"{self.api_version}, Kind={self.kind}"


_RUN_POLICY: Final = ("spec", "runPolicy", "managedBy")
_RUN_POLICY_TTL: Final = ("spec", "runPolicy", "ttlSecondsAfterFinished")
_TTL: Final = ("spec", "ttlSecondsAfterFinished")
"""Not copied: a worker could delete the job before its end was mirrored, and afterwards it is removed anyway."""
_POD_LABELS: Final = ("spec", "template", "metadata", "labels")
_JOB_LABELS: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)

_KUEUE_PATCHES: Final = ((("spec", "runtimePatches"), "manager", "kueue.x-k8s.io/manager"),)


def _job(name: str, group: str, version: str, kind: str, **fields: Any) -> JobKind:
    return JobKind(group, version, kind, f"{kind.lower()}s", integration=name, **fields)


def _kubeflow(kind: str, version: str = "v1") -> JobKind:
    name = f"kubeflow.org/{kind.lower()}"
    return _job(name, "kubeflow.org", version, kind, managed_by=_RUN_POLICY, drop=(_RUN_POLICY_TTL,))


SHIPPED: Final[tuple[JobKind, ...]] = (
    _job(
        "batch/job",
        "batch",
        "v1",
        "Job",
        status=StatusSync.BATCH_JOB,
        drop=(("spec", "selector"), _TTL),
        drop_labels=tuple((_POD_LABELS, label) for label in _JOB_LABELS),
        forward=(("spec", "parallelism"),),
        forward_elastic_only=True,
        size_limit=("spec", "completions"),
    ),
    _job("jobset.x-k8s.io/jobset", "jobset.x-k8s.io", "v1alpha2", "JobSet", drop=(_TTL,)),
    *(_kubeflow(kind) for kind in ("TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob")),
    _kubeflow("MPIJob", "v2beta1"),
    _job(
        "trainer.kubeflow.org/trainjob",
        "trainer.kubeflow.org",
        "v1alpha1",
        "TrainJob",
        drop_items=_KUEUE_PATCHES,
    ),
    _job("ray.io/rayjob", "ray.io", "v1", "RayJob", drop=(_TTL,)),
    _job(
        "ray.io/raycluster",
        "ray.io",
        "v1",
        "RayCluster",
        groups=ItemSizes(
            ("spec", "workerGroupSpecs"),
            "groupName",
            ("replicas", "numOfHosts"),
            autoscaling=("spec", "enableInTreeAutoscaling"),
            least="minReplicas",
        ),
    ),
    _job("ray.io/rayservice", "ray.io", "v1", "RayService", forward=(("spec", "serveConfigV2"),)),
    _job("workload.codeflare.dev/appwrapper", "workload.codeflare.dev", "v1beta2", "AppWrapper"),
    _job(
        "pod",
        "",
        "v1",
        "Pod",
        managed_by=None,
        status=StatusSync.POD,
        grouped_by="kueue.x-k8s.io/pod-group-name",
    ),
    _job(
        "statefulset",
        "apps",
        "v1",
        "StatefulSet",
        managed_by=None,
        status=StatusSync.NOTHING,
        prebuilt=False,
    ),
    _job(
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "leaderworkerset.x-k8s.io",
        "v1",
        "LeaderWorkerSet",
        managed_by=None,
        status=StatusSync.NOTHING,
        prebuilt=False,
        size=("spec", "replicas"),
    ),
)
