"""Lease (coordination.k8s.io/v1) and PodDisruptionBudget (policy/v1)."""

import re
from collections.abc import Iterator, Sequence

from config.api.meta import Obj
from localcluster.catalogue.builtin_kinds.limits import check_not_negative
from localcluster.kinds.columns import age_column, computed_column, field_column, read
from localcluster.kinds.fields import conditions, label_selector, resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.label_selectors import check_label_selector
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import int32, int64, int_or_string, map_of, obj, one_of, string, timestamp

_COUNTERS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def lease_kind() -> ServedKind:
    """Return the Lease kind."""
    spec = obj(
        {
            "holderIdentity": string(),
            "leaseDurationSeconds": int32(),
            "acquireTime": timestamp(),
            "renewTime": timestamp(),
            "leaseTransitions": int32(),
        }
    )
    return ServedKind(
        group="coordination.k8s.io",
        version="v1",
        kind="Lease",
        plural="leases",
        singular="lease",
        namespaced=True,
        schema=resource({"spec": spec}),
        columns=(field_column("Holder", "spec.holderIdentity"), age_column()),
        validate=_check_lease,
    )


def pod_disruption_budget_kind() -> ServedKind:
    """Return the PodDisruptionBudget kind."""
    spec = obj(
        {
            "minAvailable": int_or_string(),
            "maxUnavailable": int_or_string(),
            "selector": label_selector(),
            "unhealthyPodEvictionPolicy": one_of("AlwaysAllow", "IfHealthyBudget"),
        }
    )
    status = obj(
        {
            "observedGeneration": int64(),
            "disruptedPods": map_of(timestamp()),
            "disruptionsAllowed": int32(),
            "currentHealthy": int32(),
            "desiredHealthy": int32(),
            "expectedPods": int32(),
            "conditions": conditions(),
        }
    )
    return ServedKind(
        group="policy",
        version="v1",
        kind="PodDisruptionBudget",
        plural="poddisruptionbudgets",
        singular="poddisruptionbudget",
        namespaced=True,
        short_names=("pdb",),
        has_status=True,
        schema=resource({"spec": spec, "status": status}),
        columns=(
            computed_column("Min Available", lambda budget: _or_not_available(budget, "minAvailable")),
            computed_column("Max Unavailable", lambda budget: _or_not_available(budget, "maxUnavailable")),
            computed_column(
                "Allowed Disruptions", lambda budget: read(budget, "status.disruptionsAllowed") or 0, of="integer"
            ),
            age_column(),
        ),
        prepare_create=_start_without_allowance,
        validate=_check_budget,
        validate_status=_check_budget_status,
    )


def _start_without_allowance(budget: Obj) -> None:
    budget["status"] = dict.fromkeys(_COUNTERS, 0)


def _check_lease(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    spec = new.get("spec") or {}
    found = [*check_not_negative(spec, ("leaseTransitions",), "spec")]
    if spec.get("leaseDurationSeconds", 1) <= 0:
        found.append(
            errors.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        )
    return found


def _check_budget(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    spec = new.get("spec") or {}
    found: list[SchemaError] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        found.append(errors.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            found.extend(_check_share(spec[field], f"spec.{field}"))
    found.extend(check_label_selector(spec.get("selector") or {}, "spec.selector"))
    return found


def _check_budget_status(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    return [*check_not_negative(new.get("status") or {}, _COUNTERS, "status")]


def _check_share(share: int | str, path: str) -> Iterator[SchemaError]:
    if isinstance(share, int):
        if share < 0:
            yield errors.invalid(path, share, errors.MUST_NOT_BE_NEGATIVE)
    elif not re.fullmatch(r"[0-9]+%", share):
        complaint = (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        yield errors.invalid(path, share, complaint)
    elif int(share[:-1]) > 100:
        yield errors.invalid(path, share, "must not be greater than 100%")


def _or_not_available(budget: Obj, field: str) -> str:
    share = read(budget, f"spec.{field}")
    return "N/A" if share is None else str(share)
