"""The part of a Kueue Configuration that changes scheduling decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from engine.requests.transformations import NO_RULES, ResourceRules
from engine.versions.profiles import REFERENCE_PROFILE, VersionProfile
from engine.vocabulary.errors import FieldError
from engine.vocabulary.features import FeatureGates


class PreemptionStrategy(StrEnum):
    """When fair sharing lets a ClusterQueue preempt from another one."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


class RequeuingTimestamp(StrEnum):
    """What orders a workload that was evicted because its pods were not ready in time."""

    EVICTION = "Eviction"
    CREATION = "Creation"


DEFAULT_STRATEGIES: Final = (
    PreemptionStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
    PreemptionStrategy.LESS_THAN_INITIAL_SHARE,
)


_BLOCK_UNDECLARED: Final = "BlockUndeclared"
_IGNORE_UNDECLARED: Final = "IgnoreUndeclared"


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Fair sharing is on; what it lets preempt."""

    strategies: tuple[PreemptionStrategy, ...] = DEFAULT_STRATEGIES

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read the `fairSharing` block of a Configuration; an empty list means Kueue's default."""
        return cls.from_names(raw.get("preemptionStrategies") or ())

    @classmethod
    def from_names(cls, names: Sequence[str]) -> Self:
        """Read the names of strategies in the order in which they are tried."""
        allowed = [strategy.value for strategy in PreemptionStrategy]
        for name in names:
            if name not in allowed:
                raise FieldError.not_allowed("fairSharing.preemptionStrategies", name, allowed)
        strategies = tuple(PreemptionStrategy(name) for name in names)
        if strategies and strategies not in {DEFAULT_STRATEGIES, DEFAULT_STRATEGIES[:1], DEFAULT_STRATEGIES[1:]}:
            raise FieldError.not_allowed(
                "fairSharing.preemptionStrategies", ",".join(names), [*allowed, ",".join(allowed)]
            )
        return cls(strategies or DEFAULT_STRATEGIES)


@dataclass(frozen=True, slots=True)
class KueueConfiguration:
    """How the predicted Kueue is configured; the defaults are those of an empty Configuration."""

    gates: FeatureGates = field(default_factory=FeatureGates)
    profile: VersionProfile = REFERENCE_PROFILE
    """The rules of its version. `gates` are complete: `from_raw` starts from the version's defaults."""
    named_gates: Mapping[str, bool] = field(default_factory=dict)
    """The feature gates that are set explicitly, also those that the engine does not model."""
    unknown_gates: tuple[str, ...] = ()
    """Feature gates that the version does not have, as far as it is known."""
    fair_sharing: FairSharing | None = None
    requeuing_timestamp: RequeuingTimestamp = RequeuingTimestamp.EVICTION
    resource_rules: ResourceRules = NO_RULES
    ignores_undeclared_resources: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The Configuration itself, for features that the engine only detects."""
    is_assumed: bool = False
    """Nothing is known of the Configuration, and Kueue's defaults are assumed."""

    @classmethod
    def from_raw(
        cls,
        raw: Mapping[str, Any],
        gates: Mapping[str, object] | None = None,
        profile: VersionProfile = REFERENCE_PROFILE,
    ) -> Self:
        """Read the Configuration of a Kueue of some version (an empty one stands for its defaults).

        `gates` (name → boolean) are those of the command line, which replace the file's.
        """
        settings = profile.gate_table.settings(_named_gates(raw) if gates is None else gates)
        fair_sharing = raw.get("fairSharing")
        wait = raw.get("waitForPodsReady") or {}
        timestamp = (wait.get("requeuingStrategy") or {}).get("timestamp") or RequeuingTimestamp.EVICTION
        resources = raw.get("resources") or {}
        strategy = resources.get("quotaCheckStrategy") or _BLOCK_UNDECLARED
        if strategy not in (_BLOCK_UNDECLARED, _IGNORE_UNDECLARED):
            allowed = (_BLOCK_UNDECLARED, _IGNORE_UNDECLARED)
            raise FieldError.not_allowed("resources.quotaCheckStrategy", strategy, allowed)
        return cls(
            gates=settings.gates,
            profile=profile,
            named_gates=settings.named,
            unknown_gates=settings.unknown,
            fair_sharing=None if fair_sharing is None else FairSharing.from_raw(fair_sharing),
            requeuing_timestamp=read_requeuing_timestamp(timestamp, "waitForPodsReady.requeuingStrategy.timestamp"),
            resource_rules=ResourceRules.from_raw(resources),
            ignores_undeclared_resources=strategy == _IGNORE_UNDECLARED,
            raw=raw,
        )

    def may_have_on(self, gate: str) -> bool:
        """Return whether a feature gate is on, or may be: it is not named, and may be on by an argument of Kueue's.

        A version that is known and does not have the gate has it off.
        """
        if self.profile.is_named and gate not in self.profile.gate_table.stages:
            return False
        return self.named_gates.get(gate, True)

    @property
    def skips_undeclared_resources(self) -> bool:
        """Return whether a resource that the ClusterQueue does not cover is ignored."""
        return self.ignores_undeclared_resources and self.gates.quota_check_strategy


def _named_gates(raw: Mapping[str, Any]) -> Mapping[str, object]:
    named = raw.get("featureGates") or {}
    if not isinstance(named, Mapping):
        raise FieldError("featureGates", f"{named!r} is not allowed: must map names to true or false")
    return named


def read_requeuing_timestamp(value: object, field_path: str) -> RequeuingTimestamp:
    """Read what orders a workload that was evicted for not being ready."""
    for choice in RequeuingTimestamp:
        if choice == value:
            return choice
    raise FieldError.not_allowed(field_path, value, [choice.value for choice in RequeuingTimestamp])
