"""Findings about objects that do not fit together: queues without a counterpart, namesakes, checks, rivals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from config.api.identifiers import ClusterUID
from config.api.meta import ObjectKey
from config.names import FIELD_MANAGER, MULTIKUEUE_NAME
from gates.diagnosis.finding import Finding, Topic, error, warning
from gates.model.activity import CheckRecord, ClusterRecord, ConfigRecord
from gates.model.marks import HubIdentity

_SHOWN: Final = 5
"""How many objects of one sort are named; the rest is counted."""
RIVAL_REMEDY: Final = (
    "switch off Kueue's feature gate MultiKueue on the hub, or set hub.controllerName to Turnstile's own"
)


@dataclass(frozen=True, slots=True)
class Marked:
    """An object on a worker with the marks that say whose it is."""

    key: ObjectKey
    origin: str
    hub: ClusterUID


def queue_missing(queue: ObjectKey) -> str:
    """Say that a worker lacks a LocalQueue of the hub."""
    return f"LocalQueue {queue} is missing there: jobs of that queue never start there"


def namespace_missing(namespace: str, queues: Iterable[str]) -> str:
    """Say that a worker lacks a namespace of the hub, and the LocalQueues in it."""
    return f"namespace {namespace} is missing there, and so is LocalQueue {', '.join(queues)}"


def names_taken(resource: str, foreign: Sequence[ObjectKey]) -> str:
    """Say which objects of others have the names of objects that are to be created."""
    return f"{resource} that Turnstile did not create take names that it needs: {_named(foreign)}"


def queue_findings(
    cluster: str, wanted: Iterable[ObjectKey], namespaces: frozenset[str], queues: Mapping[ObjectKey, str]
) -> Iterator[Finding]:
    """Compare the hub's LocalQueues with those of a worker, given with why each is inactive."""
    missing_namespaces: dict[str, list[str]] = {}
    for key in sorted(wanted):
        if key.namespace not in namespaces:
            missing_namespaces.setdefault(key.namespace, []).append(key.name)
        elif key not in queues:
            remedy = "create it on the worker, with a ClusterQueue that has quota"
            yield error(cluster, Topic.QUEUES, queue_missing(key), remedy)
        elif queues[key]:
            message = f"LocalQueue {key} is not active there: {queues[key]}"
            yield warning(cluster, Topic.QUEUES, message, "see its ClusterQueue, flavors and admission checks there")
    for namespace, names in missing_namespaces.items():
        yield error(cluster, Topic.QUEUES, namespace_missing(namespace, names), "create both on the worker")


def namesake_findings(
    cluster: str, resource: str, wanted: frozenset[ObjectKey], found: Sequence[Marked], identity: HubIdentity
) -> Iterator[Finding]:
    """Find foreign objects with the names of objects that we have to create, and other hubs with our origin."""
    foreign = sorted(each.key for each in found if each.key in wanted and not identity.owns(each.origin, each.hub))
    if foreign:
        remedy = "rename or delete them there, or give the hub's jobs other names"
        yield error(cluster, Topic.NAMESAKES, names_taken(resource, foreign), remedy)
    hubs = {each.hub for each in found if each.origin == identity.origin and each.hub not in ("", identity.hub)}
    if hubs:
        message = f"another hub marks its {resource} there with this hub's origin {identity.origin}"
        yield error(cluster, Topic.NAMESAKES, message, "give each hub its own hub.origin")


def check_findings(
    checks: Sequence[CheckRecord], configs: Mapping[str, ConfigRecord], workers: Iterable[str], controller_name: str
) -> Iterator[Finding]:
    """Follow our AdmissionChecks to their workers."""
    known = frozenset(workers)
    if not checks:
        message = f"no AdmissionCheck has controllerName {controller_name}: there is nothing to do"
        yield warning("hub", Topic.CHECKS, message, "create an AdmissionCheck with a MultiKueueConfig, and use it")
    for check in checks:
        if check.problem or check.config not in configs:
            why = check.problem or f'there is no MultiKueueConfig "{check.config}"'
            message = f'AdmissionCheck "{check.name}" cannot be used: {why}'
            yield error("hub", Topic.CHECKS, message, "set spec.parameters to a MultiKueueConfig that exists")
            continue
        absent = [name for name in configs[check.config].clusters if name not in known]
        if absent:
            message = f'MultiKueueConfig "{check.config}" names workers that do not exist: {", ".join(absent)}'
            yield error(
                "hub", Topic.CHECKS, message, "add them with `turnstile worker add`, or remove them from the list"
            )


@dataclass(frozen=True, slots=True)
class StatusAuthor:
    """Who wrote a status last, as the API server noted it."""

    name: str
    manager: str
    at: str


def cordon_findings(clusters: Iterable[ClusterRecord]) -> Iterator[Finding]:
    """Name the workers that are out of service, in case they were forgotten."""
    for cluster in clusters:
        if cluster.is_cordoned:
            message = "it is cordoned: no new Workload is sent there"
            yield warning(cluster.name, Topic.CHECKS, message, f"turnstile worker uncordon {cluster.name}")


def rival_findings(
    controller_name: str, checks: Iterable[StatusAuthor], workloads: Sequence[StatusAuthor]
) -> Iterator[Finding]:
    """Find signs of Kueue's own controller on checks that bear its name; no other controller can be mistaken for us."""
    if controller_name != MULTIKUEUE_NAME:
        return
    written = sorted(each.name for each in workloads)
    if written:
        message = f"Kueue's own MultiKueue controller serves Turnstile's Workloads: it last wrote {_named(written)}"
        yield error("hub", Topic.RIVALS, message, RIVAL_REMEDY)
    for check in checks:
        if check.manager and check.manager != FIELD_MANAGER:
            message = (
                f'AdmissionCheck "{check.name}" was last written by {check.manager} at {check.at}, not by Turnstile'
            )
            yield warning(
                "hub", Topic.RIVALS, message, f"if that is Kueue's controller and it is still running: {RIVAL_REMEDY}"
            )


def _named(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"
