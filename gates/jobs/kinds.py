"""The kinds of job that can run on a worker, one row each.

A platform adds a row of its own in the configuration; nothing else in the code knows a kind by name.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> str:
        """Write group, version and kind as Kueue's messages do."""
        return f"{self.api_version}, Kind={self.kind}"


_RUN_POLICY: Final = ("spec", "runPolicy", "managedBy")
_POD_LABELS: Final = ("spec", "template", "metadata", "labels")
_JOB_LABELS: Final = (
    "controller-uid",
    "job-name",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
)

SHIPPED: Final[tuple[JobKind, ...]] = (
    JobKind(
        "batch",
        "v1",
        "Job",
        "jobs",
        status=StatusSync.BATCH_JOB,
        drop=(("spec", "selector"),),
        drop_labels=tuple((_POD_LABELS, label) for label in _JOB_LABELS),
    ),
    JobKind("", "v1", "Pod", "pods", None, StatusSync.POD, grouped_by="kueue.x-k8s.io/pod-group-name"),
    JobKind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    JobKind("kubeflow.org", "v1", "TFJob", "tfjobs", _RUN_POLICY),
    JobKind("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", _RUN_POLICY),
    JobKind("kubeflow.org", "v1", "XGBoostJob", "xgboostjobs", _RUN_POLICY),
    JobKind("kubeflow.org", "v1", "PaddleJob", "paddlejobs", _RUN_POLICY),
    JobKind("kubeflow.org", "v1", "JAXJob", "jaxjobs", _RUN_POLICY),
    JobKind("kubeflow.org", "v2beta1", "MPIJob", "mpijobs", _RUN_POLICY),
    JobKind("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    JobKind("ray.io", "v1", "RayJob", "rayjobs"),
    JobKind("ray.io", "v1", "RayCluster", "rayclusters"),
    JobKind("ray.io", "v1", "RayService", "rayservices"),
    JobKind("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers"),
    JobKind("apps", "v1", "StatefulSet", "statefulsets", None, StatusSync.NOTHING, prebuilt=False),
    JobKind(
        "leaderworkerset.x-k8s.io",
        "v1",
        "LeaderWorkerSet",
        "leaderworkersets",
        None,
        StatusSync.NOTHING,
        prebuilt=False,
    ),
)
