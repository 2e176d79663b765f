"""All kinds that a local cluster serves, in the dialect that it was asked to speak."""

from functools import cache

from engine.vocabulary.gate_dialect import GateDialect
from localcluster.catalogue.builtin_kinds.coordination import lease_kind, pod_disruption_budget_kind
from localcluster.catalogue.builtin_kinds.core import (
    config_map_kind,
    limit_range_kind,
    namespace_kind,
    rbac_kinds,
    secret_kind,
    service_account_kind,
)
from localcluster.catalogue.builtin_kinds.events import core_event_kind, events_event_kind
from localcluster.catalogue.builtin_kinds.jobs import job_kind
from localcluster.catalogue.builtin_kinds.loose import loose_kinds
from localcluster.catalogue.builtin_kinds.nodes import node_kind, runtime_class_kind
from localcluster.catalogue.builtin_kinds.pods import pod_kind
from localcluster.catalogue.builtin_kinds.scheduling import (
    pod_group_v1alpha2_kind,
    pod_group_v1beta1_kind,
    priority_class_kind,
)
from localcluster.catalogue.kueue_kinds.flavors import (
    provisioning_request_config_kind,
    resource_flavor_kind,
    topology_kind,
    workload_priority_class_kind,
    workload_priority_class_v1beta1_kind,
)
from localcluster.catalogue.kueue_kinds.multikueue import (
    admission_check_kind,
    multikueue_cluster_kind,
    multikueue_config_kind,
)
from localcluster.catalogue.kueue_kinds.queues import cluster_queue_kind, cohort_kind, local_queue_kind
from localcluster.catalogue.kueue_kinds.workload import workload_kind
from localcluster.kinds.kinds import ServedKind


@cache
def all_kinds(
    *,
    gate_dialect: GateDialect = GateDialect.KUEUE,
    preemption_gates: bool = True,
    time_based_preemption: bool = False,
    v1beta1: bool = False,
) -> tuple[ServedKind, ...]:
    """Return every served kind; equal options return the same kinds, so that schemas are compiled once.

    `preemption_gates=False` is an older Kueue, which prunes gates. `gate_dialect=STATE` is KEP-8303's spelling of
    them. `time_based_preemption=True` adds the field of KEP-8522. `v1beta1=True` is Kueue before v0.20, which
    serves that version of its group too.
    """
    return (
        *_builtin_kinds(),
        workload_kind(gate_dialect=gate_dialect, preemption_gates=preemption_gates),
        cluster_queue_kind(time_based_preemption=time_based_preemption),
        cohort_kind(),
        local_queue_kind(),
        resource_flavor_kind(),
        topology_kind(),
        workload_priority_class_kind(),
        admission_check_kind(),
        multikueue_config_kind(),
        multikueue_cluster_kind(),
        provisioning_request_config_kind(),
        *((workload_priority_class_v1beta1_kind(),) if v1beta1 else ()),
    )


@cache
def _builtin_kinds() -> tuple[ServedKind, ...]:
    return (
        namespace_kind(),
        secret_kind(),
        config_map_kind(),
        service_account_kind(),
        limit_range_kind(),
        core_event_kind(),
        events_event_kind(),
        node_kind(),
        pod_kind(),
        job_kind(),
        lease_kind(),
        pod_disruption_budget_kind(),
        priority_class_kind(),
        pod_group_v1alpha2_kind(),
        pod_group_v1beta1_kind(),
        runtime_class_kind(),
        *rbac_kinds(),
        *loose_kinds(),
    )
