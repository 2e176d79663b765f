"""Kinds that adapters copy between clusters without understanding them: everything in spec and status is kept."""

from localcluster.kinds.columns import age_column
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural.builder import preserved

_LOOSE = (
    ("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets"),
    ("ray.io", "v1", "RayJob", "rayjobs"),
    ("ray.io", "v1", "RayCluster", "rayclusters"),
    ("ray.io", "v1", "RayService", "rayservices"),
    ("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"),
    ("kubeflow.org", "v2beta1", "MPIJob", "mpijobs"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs"),
    ("workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"),
    ("apps", "v1", "StatefulSet", "statefulsets"),
    ("apps", "v1", "Deployment", "deployments"),
    ("multicluster.x-k8s.io", "v1alpha1", "ClusterProfile", "clusterprofiles"),
)
_SHORT_NAMES = {"LeaderWorkerSet": ("lws",), "StatefulSet": ("sts",), "Deployment": ("deploy",)}


def loose_kinds() -> tuple[ServedKind, ...]:
    """Return the kinds, all namespaced and with a status of their own."""
    return tuple(
        ServedKind(
            group=group,
            version=version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=True,
            short_names=_SHORT_NAMES.get(kind, ()),
            has_status=True,
            schema=resource({"spec": preserved(), "status": preserved()}),
            columns=(age_column(),),
        )
        for group, version, kind, plural in _LOOSE
    )
