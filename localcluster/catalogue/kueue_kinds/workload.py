"""The Workload kind: fields, limits and the invariants of its CustomResourceDefinition.

Two dialects of one field exist: Kueue v0.19.1 says in `status.preemptionGates[].position` what KEP-8303 calls `state`.
An older Kueue knows no gates at all and prunes them.
"""

from engine.vocabulary.gate_dialect import GateDialect
from localcluster.catalogue.kueue_kinds import workload_invariants as invariants
from localcluster.catalogue.kueue_kinds.topology_assignment import topology_assignment, topology_request
from localcluster.catalogue.kueue_kinds.vocabulary import GROUP, VERSION, flavor_name, labels, tolerations
from localcluster.catalogue.kueue_kinds.workload_webhook import WORKLOAD_WEBHOOK
from localcluster.kinds.columns import age_column, condition_column, field_column, text_field
from localcluster.kinds.fields import conditions, pod_template, resource, resource_list
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.kinds.structural.builder import (
    DNS_LABEL,
    boolean,
    int32,
    list_of,
    map_of,
    obj,
    one_of,
    string,
    subdomain,
    timestamp,
)

MOST_POD_SETS = 18
MOST_GATES = 8
MOST_NOMINATED_CLUSTERS = 20


def workload_kind(*, gate_dialect: GateDialect = GateDialect.KUEUE, preemption_gates: bool = True) -> ServedKind:
    """Return the Workload kind of a cluster that speaks this dialect, or that knows no gates."""
    spec_gates = {"preemptionGates": _spec_gates()} if preemption_gates else {}
    status_gates = {"preemptionGates": _status_gates(gate_dialect)} if preemption_gates else {}
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="Workload",
        plural="workloads",
        singular="workload",
        namespaced=True,
        short_names=("kwl", "kueueworkload", "kueueworkloads"),
        has_status=True,
        schema=resource({"spec": _spec(spec_gates), "status": _status(status_gates)}, invariants=invariants.OBJECT),
        columns=(
            field_column("Queue", "spec.queueName", says="Name of the queue this workload was submitted to"),
            field_column(
                "Reserved in",
                "status.admission.clusterQueue",
                says="Name of the ClusterQueue where the workload is reserving quota",
            ),
            condition_column("Admitted", "Admitted", says="Admission status"),
            condition_column("Finished", "Finished", says="Workload finished"),
            age_column("Time this workload was created"),
        ),
        selectable_fields={"status.admission.clusterQueue": text_field("status.admission.clusterQueue")},
        webhook=WORKLOAD_WEBHOOK,
    )


def _pod_set_name(default: str | None = None) -> Schema:
    return string(pattern=DNS_LABEL, most=63, default=default)


def _spec(gates: dict[str, Schema]) -> Schema:
    pod_set = obj(
        {
            "name": _pod_set_name(default="main"),
            "template": pod_template(),
            "count": int32(least=0, default=1),
            "minCount": int32(least=1),
            "topologyRequest": topology_request(),
        },
        required=("template",),
        invariants=invariants.POD_SET,
    )
    priority_class = obj(
        {
            "group": one_of("kueue.x-k8s.io", "scheduling.k8s.io"),
            "kind": one_of("WorkloadPriorityClass", "PriorityClass"),
            "name": subdomain(least=1),
        },
        required=("group", "kind", "name"),
        invariants=invariants.PRIORITY_CLASS_REF,
    )
    return obj(
        {
            "podSets": list_of(pod_set, keys=("name",), least=1, most=MOST_POD_SETS),
            "queueName": subdomain(),
            "priorityClassRef": priority_class,
            "priority": int32(),
            "active": boolean(default=True),
            "maximumExecutionTimeSeconds": int32(least=1),
            **gates,
        },
        invariants=invariants.SPEC,
    )


def _spec_gates() -> Schema:
    return list_of(obj({"name": string(least=1, most=63)}, required=("name",)), keys=("name",), most=MOST_GATES)


def _status_gates(dialect: GateDialect) -> Schema:
    return list_of(
        obj(
            {
                "name": string(least=1, most=63),
                dialect.state_field: one_of("Closed", "Open"),
                "lastTransitionTime": timestamp(),
            },
            required=("lastTransitionTime", "name", dialect.state_field),
        ),
        keys=("name",),
        most=MOST_GATES,
    )


def _status(gates: dict[str, Schema]) -> Schema:
    named_count = {"name": _pod_set_name(), "count": int32(least=0)}
    named_resources = {"name": _pod_set_name(), "resources": resource_list()}
    return obj(
        {
            "conditions": conditions(),
            "admission": _admission(),
            "admissionChecks": _admission_checks(),
            "clusterName": string(most=256),
            "nominatedClusterNames": list_of(string(most=256), most=MOST_NOMINATED_CLUSTERS),
            "requeueState": obj({"count": int32(least=0), "requeueAt": timestamp()}),
            "reclaimablePods": list_of(
                obj(named_count, required=("count", "name")), keys=("name",), most=MOST_POD_SETS
            ),
            "resourceRequests": list_of(obj(named_resources, required=("name",)), keys=("name",), most=MOST_POD_SETS),
            "accumulatedPastExecutionTimeSeconds": int32(),
            "schedulingStats": obj({"evictions": _evictions()}),
            "unhealthyNodes": list_of(obj({"name": string(most=63)}, required=("name",)), keys=("name",), most=8),
            **gates,
        },
        invariants=invariants.STATUS,
    )


def _admission() -> Schema:
    assignment = obj(
        {
            "name": _pod_set_name(default="main"),
            "flavors": map_of(flavor_name()),
            "resourceUsage": resource_list(),
            "count": int32(least=0),
            "topologyAssignment": topology_assignment(),
            "delayedTopologyRequest": one_of("Pending", "Ready"),
        }
    )
    return obj(
        {
            "clusterQueue": subdomain(),
            "podSetAssignments": list_of(assignment, keys=("name",), most=MOST_POD_SETS),
        }
    )


def _admission_checks() -> Schema:
    pod_set_update = obj(
        {
            "name": _pod_set_name(),
            "labels": labels(),
            "annotations": labels(),
            "nodeSelector": labels(),
            "tolerations": tolerations(),
        },
        required=("name",),
    )
    check = obj(
        {
            "name": string(least=1, most=316),
            "state": one_of("Pending", "Ready", "Retry", "Rejected"),
            "lastTransitionTime": timestamp(),
            "message": string(most=32768),
            "requeueAfterSeconds": int32(least=0),
            "retryCount": int32(least=0),
            "podSetUpdates": list_of(pod_set_update, most=MOST_POD_SETS),
        },
        required=("lastTransitionTime", "message", "name", "state"),
    )
    return list_of(check, keys=("name",), most=8)


def _evictions() -> Schema:
    return list_of(
        obj(
            {"reason": string(most=316), "underlyingCause": string(most=316), "count": int32(least=0)},
            required=("count", "reason", "underlyingCause"),
        ),
        keys=("reason", "underlyingCause"),
        most=256,
    )
