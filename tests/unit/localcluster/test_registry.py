"""The catalogue as a whole: every kind is complete, distinct and describable."""

import json

import pytest

from engine.vocabulary.gate_dialect import GateDialect
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.durations import human_duration
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import apply_defaults, prune, to_openapi, validate

SERVED = {
    "v1": "Namespace Secret ConfigMap ServiceAccount LimitRange Event Node Pod",
    "events.k8s.io/v1": "Event",
    "coordination.k8s.io/v1": "Lease",
    "batch/v1": "Job",
    "policy/v1": "PodDisruptionBudget",
    "scheduling.k8s.io/v1": "PriorityClass",
    "scheduling.k8s.io/v1alpha2": "PodGroup",
    "scheduling.k8s.io/v1beta1": "PodGroup",
    "node.k8s.io/v1": "RuntimeClass",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "jobset.x-k8s.io/v1alpha2": "JobSet",
    "ray.io/v1": "RayJob RayCluster RayService",
    "kubeflow.org/v1": "PyTorchJob",
    "kubeflow.org/v2beta1": "MPIJob",
    "trainer.kubeflow.org/v1alpha1": "TrainJob",
    "workload.codeflare.dev/v1beta2": "AppWrapper",
    "leaderworkerset.x-k8s.io/v1": "LeaderWorkerSet",
    "apps/v1": "StatefulSet Deployment",
    "multicluster.x-k8s.io/v1alpha1": "ClusterProfile",
    "kueue.x-k8s.io/v1beta2": (
        "Workload ClusterQueue Cohort LocalQueue ResourceFlavor Topology WorkloadPriorityClass AdmissionCheck "
        "MultiKueueConfig MultiKueueCluster ProvisioningRequestConfig"
    ),
    "kueue.x-k8s.io/v1beta1": "WorkloadPriorityClass",
}
EVERY_KIND = pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: f"{kind.plural}.{kind.group}/{kind.version}")


def test_the_catalogue() -> None:
    served: dict[str, set[str]] = {}
    for kind in all_kinds(v1beta1=True):
        served.setdefault(kind.api_version, set()).add(kind.kind)

    assert served == {version: set(names.split()) for version, names in SERVED.items()}


def test_kueue_of_v0_20_serves_one_version() -> None:
    served = {kind.version for kind in all_kinds() if kind.group == "kueue.x-k8s.io"}

    assert served == {"v1beta2"}


def test_no_two_kinds_share_an_address_or_a_short_name() -> None:
    addresses = [(kind.group, kind.version, kind.plural) for kind in all_kinds()]
    short = [(kind.group, kind.version, name) for kind in all_kinds() for name in kind.short_names]

    assert len(set(addresses)) == len(addresses)
    assert len(set(short)) == len(short)


@EVERY_KIND
def test_every_schema_is_described_as_json(kind: ServedKind) -> None:
    described = to_openapi(kind.schema)

    assert {"apiVersion", "kind", "metadata"} <= described["properties"].keys()
    assert json.loads(json.dumps(described)) == described


@EVERY_KIND
def test_an_object_that_has_nothing_yet_is_shown_and_selected(kind: ServedKind) -> None:
    bare = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a", "namespace": "b"}}

    for column in kind.columns:
        column.value(bare)
    for select in (kind.selectable_fields or {}).values():
        assert isinstance(select(bare), str)


@EVERY_KIND
def test_wrong_shapes_are_errors_and_not_exceptions(kind: ServedKind) -> None:
    for shape in ("text", 1, [], [None], None, True):
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "a"}, "spec": shape}
        prune(kind.schema, obj)
        apply_defaults(kind.schema, obj)
        kind.set_defaults(obj)
        found = validate(kind.schema, obj)
        if shape is not None and "spec" in kind.schema.properties:
            assert found[0].field == "spec"


def test_equal_options_share_their_kinds() -> None:
    assert all_kinds() is all_kinds()
    assert all_kinds(gate_dialect=GateDialect.KEP) is not all_kinds()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (3600, "60m"),
        (4 * 3600 + 120, "4h2m"),
        (30 * 3600, "30h"),
        (3 * 86400 + 7200, "3d2h"),
        (100 * 86400, "100d"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_durations_read_as_kubectl_prints_them(seconds: float, shown: str) -> None:
    assert human_duration(seconds) == shown
