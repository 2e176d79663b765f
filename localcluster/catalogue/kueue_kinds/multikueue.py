"""The kinds that tie a hub to its workers: AdmissionCheck, MultiKueueConfig, MultiKueueCluster."""

from config.api.meta import Obj
from localcluster.catalogue.kueue_kinds.vocabulary import GROUP, IMMUTABLE, UNIQUE, VERSION
from localcluster.kinds.columns import age_column, condition_column
from localcluster.kinds.fields import conditions, resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import SchemaRule
from localcluster.kinds.structural.builder import DNS_LABEL, boolean, list_of, obj, one_of, string, subdomain

MOST_CLUSTERS = 20


def admission_check_kind() -> ServedKind:
    """Return the AdmissionCheck kind."""
    parameters = obj(
        {
            "apiGroup": subdomain(least=1),
            "kind": string(pattern=r"^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$", least=1, most=63),
            "name": string(pattern=DNS_LABEL, least=1, most=63),
        },
        required=("apiGroup", "kind", "name"),
    )
    spec = obj(
        {"controllerName": string(least=1, most=253, invariants=(IMMUTABLE,)), "parameters": parameters},
        required=("controllerName",),
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="AdmissionCheck",
        plural="admissionchecks",
        singular="admissioncheck",
        namespaced=False,
        short_names=("ac",),
        has_status=True,
        schema=resource({"spec": spec, "status": obj({"conditions": conditions()})}),
        columns=(age_column(),),
    )


def multikueue_config_kind() -> ServedKind:
    """Return the MultiKueueConfig kind; the order of its clusters is significant."""
    spec = obj(
        {
            "clusters": list_of(string(most=256), least=1, most=MOST_CLUSTERS, invariants=(UNIQUE,)),
            "quotaManagement": one_of("Manual", "Automated"),
        },
        required=("clusters",),
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="MultiKueueConfig",
        plural="multikueueconfigs",
        singular="multikueueconfig",
        namespaced=False,
        short_names=("mkconf",),
        schema=resource({"spec": spec}),
        columns=(age_column(),),
    )


def multikueue_cluster_kind(*, cordonable: bool = False) -> ServedKind:
    """Return the MultiKueueCluster kind; `cordonable` as Kueue serves it from v0.21 on, with `spec.unschedulable`."""
    kube_config = obj(
        {"location": string(least=1, most=256), "locationType": one_of("Secret", "Path", default="Secret")},
        required=("location",),
    )
    source = obj(
        {
            "kubeConfig": kube_config,
            "clusterProfileRef": obj({"name": string(least=1, most=256)}, required=("name",)),
        },
        invariants=(
            SchemaRule("exactly one of the fields in [kubeConfig clusterProfileRef] must be set", _has_one_source),
        ),
    )
    cordon = {"unschedulable": boolean()} if cordonable else {}
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="MultiKueueCluster",
        plural="multikueueclusters",
        singular="multikueuecluster",
        namespaced=False,
        short_names=("mkc",),
        has_status=True,
        schema=resource(
            {
                "spec": obj({"clusterSource": source, **cordon}, required=("clusterSource",)),
                "status": obj({"conditions": conditions()}),
            }
        ),
        columns=(
            condition_column("Connected", "Active", says="MultiKueueCluster is connected"),
            age_column("Time this workload was created"),
        ),
    )


def _has_one_source(source: Obj, _old: object) -> bool:
    return ("kubeConfig" in source) != ("clusterProfileRef" in source)
