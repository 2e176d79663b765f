"""What Turnstile has to be allowed to do on a worker and on the hub, and how it says what it may not."""

from collections.abc import Iterable
from typing import Final

from config.settings import Configuration
from gates.jobs.kinds import JobKind
from manager.absences import NAME as ABSENCES
from manager.kinds import (
    ADMISSION_CHECKS,
    CLUSTERS,
    CONFIG_MAPS,
    CONFIGS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PROFILES,
    SECRETS,
    WORKLOADS,
    api_kind,
    job_kinds,
)
from workerclient.preflight import Missing, Need

_FOLLOWED: Final = ("get", "list", "watch", "create", "delete")
_READ: Final = ("get", "list", "watch")


def needs_on_worker(kinds: Iterable[JobKind]) -> tuple[Need, ...]:
    """Return every verb that is used on a worker, none more."""
    workloads = (Need(WORKLOADS, (*_FOLLOWED, "patch")), Need(WORKLOADS, ("patch",), "status"))
    return (*workloads, *(Need(api_kind(kind), _verbs(kind)) for kind in kinds))


def needs_on_hub(configuration: Configuration) -> tuple[Need, ...]:
    """Return every verb that is used on the hub, none more."""
    kinds = [api_kind(kind) for kind in job_kinds(configuration.jobs)]
    namespace, election = configuration.hub.namespace, configuration.leader_election
    lease = {"namespace": election.namespace or namespace}
    elects = (Need(LEASES, ("create",), **lease), Need(LEASES, ("get", "patch"), name=election.lease_name, **lease))
    return (
        *(Need(kind, _READ) for kind in (ADMISSION_CHECKS, CONFIGS, CLUSTERS)),
        *(Need(kind, ("patch",), "status") for kind in (ADMISSION_CHECKS, CLUSTERS)),
        Need(WORKLOADS, (*_READ, "patch")),
        Need(WORKLOADS, ("patch",), "status"),
        *(Need(kind, _READ) for kind in kinds),
        *(Need(kind, ("patch",), "status") for kind in kinds),
        Need(EVENTS, ("create",)),
        Need(NAMESPACES, ("get",), name="kube-system"),
        Need(SECRETS, _READ, namespace=namespace),
        *((Need(PROFILES, _READ, namespace=namespace),) if configuration.cluster_profiles.enabled else ()),
        Need(CONFIG_MAPS, ("create",), namespace=namespace),
        Need(CONFIG_MAPS, ("get", "patch"), namespace=namespace, name=ABSENCES),
        *(elects if election.enabled else ()),
    )


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
