"""Rules that Kueue's API server side enforces across fields: an object that breaks one cannot exist in a cluster.

The engine can still compute with such an object (Kueue's scheduler could), so these are warnings for the person who
wrote the manifest, not errors. Objects are v1beta2, with defaults, and free of `validate_objects` errors.
"""

from collections.abc import Iterator

from config.api.meta import Raw
from config.api.quantity import parse_quantity
from engine.objects.boost import refused_boost
from engine.vocabulary.errors import FieldError
from engine.vocabulary.features import FeatureGates


def find_refusals(raw: Raw, gates: FeatureGates) -> list[FieldError]:
    """Return why a Kueue API server would refuse to store the object."""
    spec = raw.get("spec") or {}
    match raw.get("kind"):
        case "ClusterQueue":
            return [*_preemption(spec), *_fungibility(spec), *_weight(spec), *_limits(spec, "cohortName")]
        case "Cohort":
            return [*_weight(spec), *_limits(spec, "parentName")]
        case "Workload":
            return [*_workload(raw, spec, gates)]
        case _:
            return []


def _preemption(spec: Raw) -> Iterator[FieldError]:
    preemption = spec.get("preemption") or {}
    reclaim = preemption.get("reclaimWithinCohort")
    if preemption.get("withinClusterQueue") == "Any":
        allowed = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
        yield FieldError.not_allowed("spec.preemption.withinClusterQueue", "Any", allowed)
    if reclaim == "LowerOrNewerEqualPriority":
        yield FieldError.not_allowed("spec.preemption.reclaimWithinCohort", reclaim, ("Never", "LowerPriority", "Any"))
    if reclaim == "Never" and (preemption.get("borrowWithinCohort") or {}).get("policy", "Never") != "Never":
        detail = "must be Never while spec.preemption.reclaimWithinCohort is Never"
        yield FieldError("spec.preemption.borrowWithinCohort.policy", detail)


def _fungibility(spec: Raw) -> Iterator[FieldError]:
    fungibility = spec.get("flavorFungibility") or {}
    policies = {fungibility.get("whenCanBorrow"), fungibility.get("whenCanPreempt")}
    if fungibility.get("preference") is not None and policies != {"TryNextFlavor"}:
        detail = "is allowed only while whenCanBorrow and whenCanPreempt are both TryNextFlavor"
        yield FieldError("spec.flavorFungibility.preference", detail)


def _weight(spec: Raw) -> Iterator[FieldError]:
    weight = (spec.get("fairSharing") or {}).get("weight")
    if weight is not None and 0 < parse_quantity(weight) <= parse_quantity("1n"):
        yield FieldError("spec.fairSharing.weight", f'"{weight}" is not allowed: must be 0 or greater than 1n')


def _limits(spec: Raw, parent_field: str) -> Iterator[FieldError]:
    for path, quota in _quotas(spec):
        lending = quota.get("lendingLimit")
        if not spec.get(parent_field):
            for key in ("borrowingLimit", "lendingLimit"):
                if quota.get(key) is not None:
                    yield FieldError(f"{path}.{key}", f"is allowed only while spec.{parent_field} is set")
        if parent_field == "cohortName" and lending is not None and _exceeds(lending, quota["nominalQuota"]):
            detail = f'"{lending}" is not allowed: must be at most nominalQuota, {quota["nominalQuota"]}'
            yield FieldError(f"{path}.lendingLimit", detail)


def _exceeds(quantity: object, bound: object) -> bool:
    return parse_quantity(quantity) > parse_quantity(bound)


def _quotas(spec: Raw) -> Iterator[tuple[str, Raw]]:
    for g, group in enumerate(spec.get("resourceGroups") or ()):
        for f, flavor in enumerate(group.get("flavors") or ()):
            for r, quota in enumerate(flavor.get("resources") or ()):
                yield f"spec.resourceGroups[{g}].flavors[{f}].resources[{r}]", quota


def _workload(raw: Raw, spec: Raw, gates: FeatureGates) -> Iterator[FieldError]:
    pod_sets = spec.get("podSets") or ()
    with_minimum = 0
    for index, pod_set in enumerate(pod_sets):
        path = f"spec.podSets[{index}]"
        if pod_set.get("minCount") is not None:
            with_minimum += 1
            if not 1 <= pod_set["minCount"] <= pod_set.get("count", 1):
                yield FieldError(f"{path}.minCount", f"{pod_set['minCount']} is not allowed: must be from 1 to count")
        yield from _reserved_keys(path, (pod_set.get("template") or {}).get("spec") or {})
    if with_minimum > 1:
        yield FieldError("spec.podSets", f"minCount is set in {with_minimum} of them: at most one may")
    refusal = refused_boost((raw.get("metadata") or {}).get("annotations"), gates)
    if refusal is not None:
        yield refusal


def _reserved_keys(path: str, pod_spec: Raw) -> Iterator[FieldError]:
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod_spec.get(kind) or ()):
            for key in ("requests", "limits"):
                if "pods" in ((container.get("resources") or {}).get(key) or {}):
                    where = f"{path}.template.spec.{kind}[{index}].resources.{key}[pods]"
                    yield FieldError(where, "is counted by Kueue itself and must not be requested")
