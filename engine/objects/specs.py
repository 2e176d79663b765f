"""What the engine reads from the specs of ClusterQueues and Cohorts: raw JSON becomes a frozen value once.

Defaults of the API are filled in here, so that nothing behind this module asks whether a field was set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeVar

from config.api.quantity import QuantityError, parse_quantity
from config.names import KUEUE_GROUP
from engine.objects.time_based import read_min_admit_duration
from engine.quota.quota_tree import Quota
from engine.versions.amounts import Amounts
from engine.vocabulary.errors import FieldError
from engine.vocabulary.flavor_resource import FlavorResource, FlavorResourceTable


class PreemptionPolicy(StrEnum):
    """What a pending workload may preempt."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class BorrowWithinCohortPolicy(StrEnum):
    """Whether reclaiming may go together with borrowing."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"


class FungibilityPolicy(StrEnum):
    """Whether the search for a flavor ends at one that needs borrowing or preemption."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class FungibilityPreference(StrEnum):
    """Which flavor is the better one, when the search tried all of them."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class QueueingStrategy(StrEnum):
    """Whether the head of a ClusterQueue blocks those behind it."""

    STRICT_FIFO = "StrictFIFO"
    BEST_EFFORT_FIFO = "BestEffortFIFO"


class StopPolicy(StrEnum):
    """Whether a queue takes part in scheduling."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that are provided by the same flavors, in the order in which they are tried."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterQueuePreemption:
    """The `preemption` block of a ClusterQueue."""

    within_cluster_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    borrow_within_cohort: BorrowWithinCohortPolicy = BorrowWithinCohortPolicy.NEVER
    max_priority_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorFungibility:
    """The `flavorFungibility` block of a ClusterQueue."""

    when_can_borrow: FungibilityPolicy = FungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: FungibilityPolicy = FungibilityPolicy.TRY_NEXT_FLAVOR
    preference: FungibilityPreference | None = None
    """None, where it is not set, means borrowing over preemption in every version."""


@dataclass(frozen=True, slots=True)
class CohortSpec:
    """What a Cohort object says."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: float = 1.0
    has_effective_quotas: bool = False
    """Whether its status has quotas that stand in for those of the spec."""


@dataclass(frozen=True, slots=True)
class ClusterQueueSpec:
    """What a ClusterQueue object says."""

    name: str
    cohort: str
    resource_groups: tuple[ResourceGroup, ...]
    quotas: Mapping[FlavorResource, Quota]
    preemption: ClusterQueuePreemption
    fungibility: FlavorFungibility
    queueing_strategy: QueueingStrategy
    namespace_selector: Mapping[str, Any] | None
    weight: float
    admission_checks: Mapping[str, frozenset[str]]
    """Names of AdmissionChecks, each with the flavors it is for; none means all."""
    min_admit_duration_ns: int | None
    has_effective_quotas: bool
    """Whether its status has quotas that stand in for those of the spec."""
    preemption_config: str
    """The PreemptionConfig that an annotation names; empty if none."""
    raw: Mapping[str, Any]
    """The object without its status, for verdicts that need all of the spec."""

    @property
    def flavors(self) -> tuple[str, ...]:
        """Every flavor in the order of the resource groups."""
        return tuple(flavor for group in self.resource_groups for flavor in group.flavors)


Choice = TypeVar("Choice", bound=StrEnum)

_PREEMPTION_CONFIG: Final = f"{KUEUE_GROUP}/preemption-config-name"
_PREEMPTION_POLICIES: Final = tuple(PreemptionPolicy)


def read_choice(raw: Mapping[str, Any], key: str, path: str, default: Choice, allowed: Sequence[Choice]) -> Choice:
    """Read a field that takes one of a closed set of values; absent and empty mean the default."""
    value = raw.get(key)
    if value in (None, ""):
        return default
    for choice in allowed:
        if choice == value:
            return choice
    raise FieldError.not_allowed(f"{path}.{key}", value, [choice.value for choice in allowed])


def read_resource_groups(groups: Sequence[Mapping[str, Any]]) -> tuple[ResourceGroup, ...]:
    """Read which flavors provide which resources."""
    return tuple(
        ResourceGroup(
            resources=frozenset(group.get("coveredResources") or ()),
            flavors=tuple(flavor["name"] for flavor in group.get("flavors") or ()),
        )
        for group in groups
    )


def read_quotas(
    groups: Sequence[Mapping[str, Any]], table: FlavorResourceTable, amounts: Amounts
) -> dict[FlavorResource, Quota]:
    """Read the quotas of all resource groups."""
    quotas: dict[FlavorResource, Quota] = {}
    for g, group in enumerate(groups):
        for f, flavor in enumerate(group.get("flavors") or ()):
            for r, resource in enumerate(flavor.get("resources") or ()):
                path = f"spec.resourceGroups[{g}].flavors[{f}].resources[{r}]"
                quotas[table.get(flavor["name"], resource["name"])] = Quota(
                    _read_amount(resource, "nominalQuota", path, amounts) or 0,
                    _read_amount(resource, "borrowingLimit", path, amounts),
                    _read_amount(resource, "lendingLimit", path, amounts),
                )
    return quotas


def _read_amount(resource: Mapping[str, Any], key: str, path: str, amounts: Amounts) -> int | None:
    value = resource.get(key)
    if value is None:
        return None
    try:
        return amounts.quota(resource["name"], value)
    except QuantityError as error:
        raise FieldError(f"{path}.{key}", str(error)) from None


def read_weight(spec: Mapping[str, Any]) -> float:
    """Read the weight in fair sharing."""
    weight = (spec.get("fairSharing") or {}).get("weight")
    if weight is None:
        return 1.0
    try:
        return float(parse_quantity(weight))
    except QuantityError as error:
        raise FieldError("spec.fairSharing.weight", str(error)) from None


def read_cohort(raw: Mapping[str, Any], table: FlavorResourceTable, amounts: Amounts) -> CohortSpec:
    """Read a raw Cohort."""
    spec = raw.get("spec") or {}
    return CohortSpec(
        name=raw["metadata"]["name"],
        parent=spec.get("parentName") or "",
        quotas=read_quotas(spec.get("resourceGroups") or (), table, amounts),
        weight=read_weight(spec),
        has_effective_quotas=_has_effective_quotas(raw),
    )


def read_cluster_queue(raw: Mapping[str, Any], table: FlavorResourceTable, amounts: Amounts) -> ClusterQueueSpec:
    """Read a raw ClusterQueue."""
    spec = raw.get("spec") or {}
    groups = spec.get("resourceGroups") or ()
    read_choice(spec, "stopPolicy", "spec", StopPolicy.NONE, tuple(StopPolicy))
    default_strategy = QueueingStrategy.BEST_EFFORT_FIFO
    return ClusterQueueSpec(
        name=raw["metadata"]["name"],
        cohort=spec.get("cohortName") or "",
        resource_groups=read_resource_groups(groups),
        quotas=read_quotas(groups, table, amounts),
        preemption=_read_preemption(spec.get("preemption") or {}),
        fungibility=_read_fungibility(spec.get("flavorFungibility") or {}),
        queueing_strategy=read_choice(spec, "queueingStrategy", "spec", default_strategy, tuple(QueueingStrategy)),
        namespace_selector=spec.get("namespaceSelector"),
        weight=read_weight(spec),
        admission_checks=_read_admission_checks(spec),
        min_admit_duration_ns=read_min_admit_duration(spec.get("preemption")),
        has_effective_quotas=_has_effective_quotas(raw),
        preemption_config=(raw["metadata"].get("annotations") or {}).get(_PREEMPTION_CONFIG) or "",
        raw=_without_status(raw),
    )


def _read_preemption(raw: Mapping[str, Any]) -> ClusterQueuePreemption:
    never = PreemptionPolicy.NEVER
    borrow = raw.get("borrowWithinCohort") or {}
    within_path, path = "spec.preemption", "spec.preemption.borrowWithinCohort"
    borrow_policies = tuple(BorrowWithinCohortPolicy)
    return ClusterQueuePreemption(
        within_cluster_queue=read_choice(raw, "withinClusterQueue", within_path, never, _PREEMPTION_POLICIES),
        reclaim_within_cohort=read_choice(raw, "reclaimWithinCohort", within_path, never, _PREEMPTION_POLICIES),
        borrow_within_cohort=read_choice(borrow, "policy", path, BorrowWithinCohortPolicy.NEVER, borrow_policies),
        max_priority_threshold=borrow.get("maxPriorityThreshold"),
    )


def _read_fungibility(raw: Mapping[str, Any]) -> FlavorFungibility:
    path, policies = "spec.flavorFungibility", tuple(FungibilityPolicy)
    defaults = FlavorFungibility()
    return FlavorFungibility(
        when_can_borrow=read_choice(raw, "whenCanBorrow", path, defaults.when_can_borrow, policies),
        when_can_preempt=read_choice(raw, "whenCanPreempt", path, defaults.when_can_preempt, policies),
        preference=_read_preference(raw, path),
    )


def _read_preference(raw: Mapping[str, Any], path: str) -> FungibilityPreference | None:
    if not raw.get("preference"):
        return None
    preferences = tuple(FungibilityPreference)
    return read_choice(raw, "preference", path, preferences[0], preferences)


def _read_admission_checks(spec: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    strategy = spec.get("admissionChecksStrategy") or {}
    return {check["name"]: frozenset(check.get("onFlavors") or ()) for check in strategy.get("admissionChecks") or ()}


def _has_effective_quotas(raw: Mapping[str, Any]) -> bool:
    return (raw.get("status") or {}).get("effectiveQuotas") is not None


def _without_status(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keep what a change of status or of bookkeeping metadata leaves equal."""
    metadata = {key: value for key, value in raw["metadata"].items() if key in ("name", "deletionTimestamp")}
    return {"kind": "ClusterQueue", "metadata": metadata, "spec": raw.get("spec") or {}}
