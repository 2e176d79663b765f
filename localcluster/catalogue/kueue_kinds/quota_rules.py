"""What Kueue's webhooks demand of quota in ClusterQueues and Cohorts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from config.api.meta import Obj
from config.api.quantity import parse_quantity
from localcluster.kinds.columns import read
from localcluster.kinds.label_selectors import check_label_selector
from localcluster.kinds.metadata import check_label_name
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors

_MOST_FLAVORS = 256
_MOST_COMBINATIONS = 512
_SMALLEST_WEIGHT = parse_quantity("1n")


@dataclass(frozen=True, slots=True)
class _QuotaOwner:
    """Whose quota is checked: a ClusterQueue in its cohort, or a Cohort in its parent."""

    parent_word: str
    has_parent: bool
    lends_at_most_nominal: bool


def borrows_only_in_cohort(spec: Obj, _old: Any) -> bool:
    """Return whether no borrowing limit is set in a queue that has no cohort to borrow from."""
    if "cohortName" in spec:
        return True
    return not any(
        "borrowingLimit" in amounts
        for group in spec.get("resourceGroups") or ()
        for flavor in group["flavors"]
        for amounts in flavor["resources"]
    )


def check_cluster_queue(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    """Return the webhook's objections to a ClusterQueue."""
    spec = new.get("spec") or {}
    groups = spec.get("resourceGroups") or ()
    owner = _QuotaOwner("cohort", bool(spec.get("cohortName")), lends_at_most_nominal=True)
    found = [*_check_resource_groups(groups, owner)]
    found.extend(check_label_selector(spec.get("namespaceSelector") or {}, "spec.namespaceSelector"))
    found.extend(_check_fair_sharing(spec))
    found.extend(_check_totals(groups))
    found.extend(_check_on_flavors(new, old))
    policy = spec.get("concurrentAdmissionPolicy")
    if old is not None and policy != read(old, "spec.concurrentAdmissionPolicy"):
        found.append(errors.invalid("spec.concurrentAdmissionPolicy", policy, errors.FIELD_IS_IMMUTABLE))
    return found


def check_cohort(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    """Return the webhook's objections to a Cohort."""
    spec = new.get("spec") or {}
    owner = _QuotaOwner("parent", bool(spec.get("parentName")), lends_at_most_nominal=False)
    return [*_check_fair_sharing(spec), *_check_resource_groups(spec.get("resourceGroups") or (), owner)]


def _check_resource_groups(groups: Sequence[Obj], owner: _QuotaOwner) -> Iterator[SchemaError]:
    seen_resources: set[str] = set()
    seen_flavors: set[str] = set()
    for index, group in enumerate(groups):
        path = f"spec.resourceGroups[{index}]"
        for position, name in enumerate(group["coveredResources"]):
            where = f"{path}.coveredResources[{position}]"
            yield from check_label_name(name, where)
            if name in seen_resources:
                yield errors.duplicate(where, name)
            seen_resources.add(name)
        for position, flavor in enumerate(group["flavors"]):
            where = f"{path}.flavors[{position}]"
            yield from _check_flavor(flavor, group["coveredResources"], owner, where)
            if flavor["name"] in seen_flavors:
                yield errors.duplicate(f"{where}.name", flavor["name"])
            seen_flavors.add(flavor["name"])


def _check_flavor(flavor: Obj, covered: Sequence[str], owner: _QuotaOwner, path: str) -> Iterator[SchemaError]:
    for index, (amounts, resource) in enumerate(zip(flavor["resources"], covered, strict=False)):
        where = f"{path}.resources[{index}]"
        if amounts["name"] != resource:
            yield errors.invalid(f"{where}.name", amounts["name"], "must match the name in coveredResources")
        yield from _check_amount(amounts["nominalQuota"], f"{where}.nominalQuota")
        for limit in ("borrowingLimit", "lendingLimit"):
            if limit in amounts:
                yield from _check_limit(amounts[limit], owner, f"{where}.{limit}")
                yield from _check_amount(amounts[limit], f"{where}.{limit}")
        lending = amounts.get("lendingLimit")
        if owner.lends_at_most_nominal and lending is not None:
            yield from _check_lending(lending, amounts["nominalQuota"], f"{where}.lendingLimit")


def _check_amount(amount: str | int, path: str) -> Iterator[SchemaError]:
    if parse_quantity(amount) < 0:
        yield errors.invalid(path, str(amount), errors.MUST_NOT_BE_NEGATIVE)


def _check_limit(limit: str | int, owner: _QuotaOwner, path: str) -> Iterator[SchemaError]:
    if not owner.has_parent:
        yield errors.invalid(path, str(limit), f"must be nil when {owner.parent_word} is empty")


def _check_lending(limit: str | int, nominal: str | int, path: str) -> Iterator[SchemaError]:
    if parse_quantity(limit) > parse_quantity(nominal):
        yield errors.invalid(path, str(limit), "must be less than or equal to the nominalQuota")


def _check_fair_sharing(spec: Obj) -> Iterator[SchemaError]:
    weight = (spec.get("fairSharing") or {}).get("weight")
    if weight is None:
        return
    value = parse_quantity(weight)
    if value < 0:
        yield errors.invalid("spec.fairSharing", str(weight), errors.MUST_NOT_BE_NEGATIVE)
    elif 0 < value <= _SMALLEST_WEIGHT:
        yield errors.invalid("spec.fairSharing", str(weight), "When not 0, weight must be > 10e-9")


def _check_totals(groups: Sequence[Obj]) -> Iterator[SchemaError]:
    path = "spec.resourceGroups"
    for field, word in (("flavors", "flavors"), ("coveredResources", "covered resources")):
        total = sum(len(group[field]) for group in groups)
        if total > _MOST_FLAVORS:
            complaint = f"total number of {word} across all resourceGroups must be ≤ {_MOST_FLAVORS}, got {total}"
            yield errors.invalid(path, total, complaint)
    for index, group in enumerate(groups):
        total = sum(len(flavor["resources"]) for flavor in group["flavors"])
        if total > _MOST_COMBINATIONS:
            complaint = (
                f"number of flavor-resource combinations in a resourceGroup must be ≤ {_MOST_COMBINATIONS}, got {total}"
            )
            yield errors.invalid(f"{path}[{index}]", total, complaint)


def _check_on_flavors(new: Obj, old: Obj | None) -> Iterator[SchemaError]:
    """Refuse checks on flavors that the queue does not have, unless they were stored like this before."""
    flavors = _flavor_names(new)
    checks: Sequence[Obj] = read(new, "spec.admissionChecksStrategy.admissionChecks") or ()
    tolerated: list[Obj] = []
    if old is not None and set(_flavor_names(old)) == set(flavors):
        tolerated = read(old, "spec.admissionChecksStrategy.admissionChecks") or []
    for index, check in enumerate(checks):
        if check in tolerated:
            continue
        for position, flavor in enumerate(check.get("onFlavors") or ()):
            if flavor not in flavors:
                path = f"spec.admissionChecksStrategy.admissionChecks[{index}].onFlavors[{position}]"
                yield errors.not_supported(path, flavor, flavors)


def _flavor_names(cluster_queue: Obj) -> list[str]:
    groups = read(cluster_queue, "spec.resourceGroups") or ()
    return [flavor["name"] for group in groups for flavor in group["flavors"]]
