"""What Turnstile has to be allowed to do on the hub and on a worker, and how it says what it may not."""

from collections.abc import Iterable
from typing import Final

from config.api.meta import ObjectKey
from gates.detection.installation import CONFIG_MAPS_OF_KUEUE, DEPLOYMENTS_OF_KUEUE
from gates.jobs.kinds import JobKind
from manager.base.kinds import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    CLUSTERS,
    CONFIG_MAPS,
    CONFIGS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    LOCAL_QUEUES,
    NAMESPACES,
    PRIORITY_CLASSES,
    SECRETS,
    WORKLOADS,
    api_kind,
)
from manager.clusters.cluster_identity import NAME as IDENTITIES
from manager.clusters.lost_workers import NAME as ABSENCES
from manager.models.model_watches import FOLLOWED_KINDS
from manager.models.pod_observation import FOLLOWED_KINDS as FOLLOWED_FOR_PODS
from manager.models.topology_watches import FOLLOWED_KINDS as FOLLOWED_FOR_TOPOLOGY
from workerclient.questions.preflight import Missing, Need

_READ: Final = ("get", "list", "watch")
_FOLLOWED: Final = (*_READ, "create", "delete")
LEASE: Final = "turnstile"
"""The Lease that the shipped role names."""


def needs_on_worker(kinds: Iterable[JobKind]) -> tuple[Need, ...]:
    """Return every verb that is used on a worker, none more."""
    workloads = (Need(WORKLOADS, (*_FOLLOWED, "patch")), Need(WORKLOADS, ("patch",), "status"))
    return (*workloads, *(Need(api_kind(kind), _verbs(kind)) for kind in kinds))


def needs_of_identity() -> tuple[Need, ...]:
    """Return what is read on a worker to tell its cluster from others."""
    return (Need(NAMESPACES, ("get",), name="kube-system"),)


def needs_of_forecasts() -> tuple[Need, ...]:
    """Return what is read on a worker for forecasts."""
    return tuple(Need(kind, _READ) for kind in FOLLOWED_KINDS)


def needs_of_detection() -> tuple[Need, ...]:
    """Return what is read on a worker to learn which Kueue runs there, and how it is configured."""
    deployments = {place.name for place in DEPLOYMENTS_OF_KUEUE}
    config_maps = {place.name for place in CONFIG_MAPS_OF_KUEUE}
    return (
        *(Need(DEPLOYMENTS, ("get",), name=name) for name in sorted(deployments)),
        *(Need(CONFIG_MAPS, ("get",), name=name) for name in sorted(config_maps)),
    )


def needs_of_pod_forecasts() -> tuple[Need, ...]:
    """Return what is read on a worker beside that for forecasts of its pods."""
    return tuple(Need(kind, _READ) for kind in FOLLOWED_FOR_PODS)


def needs_of_topology() -> tuple[Need, ...]:
    """Return what is read on a worker beside that for forecasts of where pods go."""
    return tuple(Need(kind, _READ) for kind in FOLLOWED_FOR_TOPOLOGY)


def needs_on_hub(kinds: Iterable[JobKind], namespace: str, lease: ObjectKey | None = None) -> tuple[Need, ...]:
    """Return every verb that the daemon uses on the hub; `namespace` is its own there."""
    election = lease or ObjectKey(namespace, LEASE)
    jobs = [
        need for kind in kinds for need in (Need(api_kind(kind), _READ), Need(api_kind(kind), ("patch",), "status"))
    ]
    return (
        *(Need(kind, _READ) for kind in (ADMISSION_CHECKS, CONFIGS, CLUSTERS)),
        *(Need(kind, ("patch",), "status") for kind in (ADMISSION_CHECKS, CLUSTERS)),
        Need(WORKLOADS, (*_READ, "patch")),
        Need(WORKLOADS, ("patch",), "status"),
        *jobs,
        Need(EVENTS, ("create",)),
        Need(NAMESPACES, ("get",), name="kube-system"),
        Need(SECRETS, _READ, namespace=namespace),
        Need(CONFIG_MAPS, ("create",), namespace=namespace),
        *(Need(CONFIG_MAPS, ("get", "patch"), namespace=namespace, name=name) for name in (ABSENCES, IDENTITIES)),
        Need(LEASES, ("create",), namespace=election.namespace),
        Need(LEASES, ("get", "patch"), namespace=election.namespace, name=election.name),
    )


def needs_of_plans() -> tuple[Need, ...]:
    """Return what `turnstile plan` and `turnstile doctor` read on the hub beside what the daemon does."""
    return (*(Need(kind, ("get", "list")) for kind in (LOCAL_QUEUES, CLUSTER_QUEUES, *PRIORITY_CLASSES.values())),)


def _verbs(kind: JobKind) -> tuple[str, ...]:
    """Only kinds whose running copies are changed are patched."""
    return (*_FOLLOWED, "patch") if kind.is_changed_on_workers else _FOLLOWED


def complaint(worker: str, missing: Iterable[Missing]) -> str:
    """Say in one sentence what a worker does not allow and what to do about it; empty if nothing is missing."""
    if not (listed := _listed(missing)):
        return ""
    return (
        f"worker {worker} does not allow in all namespaces: {listed} "
        f"(grant these verbs there to the user of its kubeconfig by a ClusterRole)"
    )


def complaint_about_hub(missing: Iterable[Missing]) -> str:
    """Say in one sentence what the hub does not allow and what to do about it; empty if nothing is missing."""
    listed = _listed(missing)
    return f"the hub does not allow: {listed} (compare the roles there with deploy/rbac/hub.yaml)" if listed else ""


def _listed(missing: Iterable[Missing]) -> str:
    verbs: dict[str, list[str]] = {}
    for each in missing:
        verbs.setdefault(each.resource, []).append(each.verb)
    return "; ".join(f"{', '.join(found)} on {resource}" for resource, found in verbs.items())
