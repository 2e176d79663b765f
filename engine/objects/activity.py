"""Is a ClusterQueue active? If not, why, in Kueue's words.

An inactive ClusterQueue admits nothing and its workloads cannot be preempted, yet its quota and usage keep counting.
Topologies count where they are known; where not, `engine.objects.unsupported` reports a queue with topology flavors.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final

from config.names import MULTIKUEUE_NAME
from engine.vocabulary.messages import cut_for_condition

PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"


@dataclass(frozen=True, slots=True)
class KnownChecks:
    """The AdmissionChecks of a cluster: controller by name, and which of them are not active."""

    controllers: Mapping[str, str] = field(default_factory=dict)
    inactive: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Inactivity:
    """Reason and message of the ClusterQueue's Active=False."""

    reason: str
    message: str


_TERMINATING: Final = Inactivity("Terminating", "Can't admit new workloads; clusterQueue is terminating")

_IN_CYCLE: Final = Inactivity("HasCycle", "Can't admit new workloads: its cohort has a cycle.")
"""Kueue's scheduler leaves the queue out with this reason, although its Active condition stays True."""


def why_inactive(
    cluster_queue: Mapping[str, Any],
    flavors: AbstractSet[str],
    checks: KnownChecks,
    *,
    in_cohort_cycle: bool,
    missing_topologies: Sequence[tuple[str, str]] = (),
) -> Inactivity | None:
    """Return why a raw ClusterQueue (v1beta2, with defaults) admits nothing, or None when it does.

    `missing_topologies` are flavors whose Topology does not exist, each with the name of the Topology.
    """
    if (cluster_queue.get("metadata") or {}).get("deletionTimestamp"):
        return _TERMINATING
    spec = cluster_queue.get("spec") or {}
    causes = [cause for cause in (_stopped(spec), _missing_flavors(spec, flavors)) if cause]
    causes += _check_causes(spec, checks)
    causes += [
        Inactivity("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{flavor}"')
        for flavor, topology in missing_topologies
    ]
    if not causes:
        return _IN_CYCLE if in_cohort_cycle else None
    message = f"Can't admit new workloads: {', '.join(cause.message for cause in causes)}."
    return Inactivity(causes[0].reason, cut_for_condition(message))


def flavor_names(spec: Mapping[str, Any]) -> list[str]:
    """Return the flavors of a raw ClusterQueue or Cohort spec in their order."""
    return [flavor["name"] for group in spec.get("resourceGroups") or () for flavor in group.get("flavors") or ()]


def _stopped(spec: Mapping[str, Any]) -> Inactivity | None:
    return Inactivity("Stopped", "is stopped") if (spec.get("stopPolicy") or "None") != "None" else None


def _missing_flavors(spec: Mapping[str, Any], flavors: AbstractSet[str]) -> Inactivity | None:
    missing = [name for name in flavor_names(spec) if name not in flavors]
    if not missing:
        return None
    return Inactivity("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}")


def _check_causes(spec: Mapping[str, Any], checks: KnownChecks) -> list[Inactivity]:
    rules = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    names = sorted({rule["name"] for rule in rules})
    missing = [name for name in names if name not in checks.controllers]
    inactive = [name for name in names if name in checks.controllers and name in checks.inactive]
    found = (
        ("AdmissionCheckNotFound", "references missing AdmissionCheck(s)", ",".join(missing)),
        ("AdmissionCheckInactive", "references inactive AdmissionCheck(s)", ",".join(inactive)),
        *_multikueue_causes(spec, rules, checks.controllers),
    )
    return [Inactivity(reason, f"{text}: {named}") for reason, text, named in found if named]


def _multikueue_causes(
    spec: Mapping[str, Any], rules: Sequence[Mapping[str, Any]], controllers: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    every_flavor = set(flavor_names(spec))
    multikueue = sorted({rule["name"] for rule in rules if controllers.get(rule["name"]) == MULTIKUEUE_NAME})
    provisioning = sorted({rule["name"] for rule in rules if controllers.get(rule["name"]) == PROVISIONING_CONTROLLER})
    per_flavor = sorted(
        rule["name"]
        for rule in rules
        if rule["name"] in multikueue and set(rule.get("onFlavors") or every_flavor) != every_flavor
    )
    if len(multikueue) > 1:
        text = "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found"
        yield "MultipleMultiKueueAdmissionChecks", text, ",".join(multikueue)
    yield (
        "MultiKueueAdmissionCheckAppliedPerFlavor",
        "Cannot specify MultiKueue AdmissionCheck per flavor, found",
        ",".join(per_flavor),
    )
    if multikueue and provisioning:
        text = "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found"
        yield "MultiKueueWithProvisioningRequest", text, f"{','.join(multikueue)}, {','.join(provisioning)}"
