"""The kinds that hold quota and point to it: ClusterQueue, Cohort, LocalQueue."""

from config.api.meta import Obj
from localcluster.catalogue.kueue_kinds import quota_rules
from localcluster.catalogue.kueue_kinds.time_based_preemption import (
    check_time_based_preemption,
    within_cluster_queue_config,
)
from localcluster.catalogue.kueue_kinds.vocabulary import (
    GROUP,
    IMMUTABLE,
    RESOURCE_IN_USE_FINALIZER,
    VERSION,
    fair_sharing,
    flavor_name,
    flavor_usage,
    resource_groups,
    weighted_share,
)
from localcluster.kinds.columns import field_column
from localcluster.kinds.fields import conditions, label_selector, resource, resource_list
from localcluster.kinds.kinds import ServedKind, Webhook
from localcluster.kinds.schema import Schema, SchemaRule
from localcluster.kinds.structural.builder import (
    DNS_SUBDOMAIN,
    int32,
    int64,
    list_of,
    obj,
    one_of,
    string,
    subdomain,
    timestamp,
)


def add_in_use_finalizer(new: Obj) -> None:
    """Keep the object until it is no longer used, as Kueue's defaulting webhook does."""
    finalizers = new.setdefault("metadata", {}).setdefault("finalizers", [])
    if RESOURCE_IN_USE_FINALIZER not in finalizers:
        finalizers.append(RESOURCE_IN_USE_FINALIZER)


def cluster_queue_kind(*, time_based_preemption: bool = False) -> ServedKind:
    """Return the ClusterQueue kind, on demand with the field that KEP-8522 proposes."""
    extra = {"withinClusterQueueConfig": within_cluster_queue_config()} if time_based_preemption else {}
    spec = obj(
        {
            "resourceGroups": resource_groups(),
            "cohortName": subdomain(),
            "queueingStrategy": one_of("StrictFIFO", "BestEffortFIFO", default="BestEffortFIFO"),
            "namespaceSelector": label_selector(),
            "flavorFungibility": _flavor_fungibility(),
            "preemption": _preemption(extra),
            "admissionChecksStrategy": _admission_checks_strategy(),
            "stopPolicy": _stop_policy(),
            "fairSharing": fair_sharing(),
            "admissionScope": obj(
                {"admissionMode": one_of("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")},
                required=("admissionMode",),
            ),
            "concurrentAdmissionPolicy": _concurrent_admission_policy(),
        },
        invariants=(SchemaRule("borrowingLimit must be nil when cohort is empty", quota_rules.borrows_only_in_cohort),),
    )
    status = obj({**_queue_status(with_borrowed=True), "fairSharing": weighted_share()})
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="ClusterQueue",
        plural="clusterqueues",
        singular="clusterqueue",
        namespaced=False,
        short_names=("cq",),
        has_status=True,
        schema=resource({"spec": spec, "status": status}),
        columns=(
            field_column("Cohort", "spec.cohortName", says="Cohort that this ClusterQueue belongs to"),
            field_column(
                "Strategy",
                "spec.queueingStrategy",
                wide=True,
                says="The queueing strategy used to prioritize workloads",
            ),
            field_column(
                "Pending Workloads", "status.pendingWorkloads", of="integer", says="Number of pending workloads"
            ),
            field_column(
                "Admitted Workloads",
                "status.admittedWorkloads",
                of="integer",
                wide=True,
                says="Number of admitted workloads that haven't finished yet",
            ),
        ),
        prepare_create=add_in_use_finalizer,
        validate=check_time_based_preemption,
        webhook=Webhook("vclusterqueue.kb.io", quota_rules.check_cluster_queue),
    )


def cohort_kind() -> ServedKind:
    """Return the Cohort kind."""
    spec = {"parentName": subdomain(), "resourceGroups": resource_groups(), "fairSharing": fair_sharing()}
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="Cohort",
        plural="cohorts",
        singular="cohort",
        namespaced=False,
        short_names=("co",),
        has_status=True,
        schema=resource({"spec": obj(spec), "status": obj({"fairSharing": weighted_share()})}),
        webhook=Webhook("vcohort.kb.io", quota_rules.check_cohort),
    )


def local_queue_kind() -> ServedKind:
    """Return the LocalQueue kind."""
    admission_fair_sharing = obj(
        {"consumedResources": resource_list(), "lastUpdate": timestamp()},
        required=("consumedResources", "lastUpdate"),
    )
    share = obj(
        {"weightedShare": int64(), "admissionFairSharingStatus": admission_fair_sharing}, required=("weightedShare",)
    )
    spec = obj(
        {
            "clusterQueue": string(pattern=DNS_SUBDOMAIN, most=253, invariants=(IMMUTABLE,)),
            "stopPolicy": _stop_policy(),
            "fairSharing": fair_sharing(),
        }
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="LocalQueue",
        plural="localqueues",
        singular="localqueue",
        namespaced=True,
        short_names=("queue", "queues", "lq"),
        has_status=True,
        schema=resource({"spec": spec, "status": obj({**_queue_status(with_borrowed=False), "fairSharing": share})}),
        columns=(
            field_column("ClusterQueue", "spec.clusterQueue", says="Backing ClusterQueue"),
            field_column(
                "Pending Workloads", "status.pendingWorkloads", of="integer", says="Number of pending workloads"
            ),
            field_column(
                "Admitted Workloads",
                "status.admittedWorkloads",
                of="integer",
                says="Number of admitted workloads that haven't finished yet.",
            ),
        ),
    )


def _stop_policy() -> Schema:
    return one_of("None", "Hold", "HoldAndDrain", default="None")


def _queue_status(*, with_borrowed: bool) -> dict[str, Schema]:
    return {
        "conditions": conditions(),
        "flavorsReservation": flavor_usage(with_borrowed=with_borrowed),
        "flavorsUsage": flavor_usage(with_borrowed=with_borrowed),
        "pendingWorkloads": int32(),
        "reservingWorkloads": int32(),
        "admittedWorkloads": int32(),
    }


def _flavor_fungibility() -> Schema:
    return obj(
        {
            "whenCanBorrow": one_of("MayStopSearch", "TryNextFlavor", default="MayStopSearch"),
            "whenCanPreempt": one_of("MayStopSearch", "TryNextFlavor", default="TryNextFlavor"),
            "preference": one_of("BorrowingOverPreemption", "PreemptionOverBorrowing"),
        },
        default={},
        invariants=(
            SchemaRule(
                "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
                lambda policy, _old: (
                    "preference" not in policy or policy["whenCanBorrow"] == policy["whenCanPreempt"] == "TryNextFlavor"
                ),
            ),
        ),
    )


def _preemption(extra: dict[str, Schema]) -> Schema:
    borrow_within_cohort = obj(
        {"policy": one_of("Never", "LowerPriority", default="Never"), "maxPriorityThreshold": int32()}, default={}
    )
    return obj(
        {
            "reclaimWithinCohort": one_of("Never", "LowerPriority", "Any", default="Never"),
            "borrowWithinCohort": borrow_within_cohort,
            "withinClusterQueue": one_of("Never", "LowerPriority", "LowerOrNewerEqualPriority", default="Never"),
            **extra,
        },
        default={},
        invariants=(
            SchemaRule(
                "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
                lambda policy, _old: (
                    policy["reclaimWithinCohort"] != "Never" or policy["borrowWithinCohort"]["policy"] == "Never"
                ),
            ),
        ),
    )


def _admission_checks_strategy() -> Schema:
    check = obj(
        {"name": string(least=1, most=316), "onFlavors": list_of(flavor_name(), unique=True, most=64)},
        required=("name",),
    )
    return obj({"admissionChecks": list_of(check, keys=("name",), least=1, most=64)}, required=("admissionChecks",))


def _concurrent_admission_policy() -> Schema:
    migration = obj(
        {
            "mode": one_of("TryPreferredFlavors", "RetainFirstAdmission"),
            "constraints": obj({"lastAcceptableFlavorName": flavor_name()}),
        },
        required=("mode",),
    )
    return obj({"migration": migration}, required=("migration",))
