"""What a forecast says: the outcome, everything else that may equally happen, and why.

An answer is data; sentences are made of it elsewhere. Invariant: `outcome` is one of `outcomes`, and when `is_complete`
these are all outcomes that the scheduler's free choices allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from config.api.meta import ObjectKey
from engine.pods.values.explanation import NodeVerdict, ReprieveStep
from engine.pods.values.values import SchedulerMode


class PodCycleResult(StrEnum):
    """What one scheduling cycle leads to."""

    SCHEDULED = "scheduled"
    PREEMPTING = "preempting"
    WAITING = "waiting"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    ERROR = "error"
    UNSUPPORTED = "unsupported"


class ReasonCode(StrEnum):
    """Why nothing, or nothing new, is evicted."""

    NO_LOWER_PRIORITY = "NoLowerPriority"
    POLICY_NEVER = "PolicyNever"
    STILL_INFEASIBLE = "StillInfeasible"
    NODE_INCURABLE = "NodeIncurable"
    WAITING_FOR_MIN_COUNT = "WaitingForMinCount"
    WAITING_FOR_POD_GROUP = "WaitingForPodGroup"
    MEMBER_MISMATCH = "MemberMismatch"
    ONGOING_PREEMPTION = "OngoingPreemption"
    UNSUPPORTED = "Unsupported"


class UnitKind(StrEnum):
    """What is evicted as a whole."""

    POD = "Pod"
    POD_GROUP = "PodGroup"


@dataclass(frozen=True, slots=True)
class Reason:
    """A stable code and one sentence."""

    code: ReasonCode
    text: str


@dataclass(frozen=True, slots=True)
class EvictedUnit:
    """A pod, or all bound pods of a group, chosen to make room; terminating pods among them are not deleted again."""

    kind: UnitKind
    key: ObjectKey
    priority: int
    pods: tuple[ObjectKey, ...]
    is_violating: bool
    terminating: tuple[ObjectKey, ...] = ()


@dataclass(frozen=True, slots=True)
class PodCycleOutcome:
    """One thing that may happen in this cycle."""

    result: PodCycleResult
    units: tuple[EvictedUnit, ...] = ()
    nominated: Mapping[ObjectKey, str] = field(default_factory=dict)
    bound: Mapping[ObjectKey, str] = field(default_factory=dict)
    reason: Reason | None = None

    @property
    def victims(self) -> tuple[ObjectKey, ...]:
        """Return the pods that are deleted in this cycle, sorted."""
        return tuple(sorted(pod for unit in self.units for pod in unit.pods if pod not in unit.terminating))

    @property
    def identity(self) -> tuple[object, ...]:
        """Return what two outcomes must share to be the same for an onlooker."""
        return (self.result, self.victims, frozenset(self.nominated.items()), frozenset(self.bound.items()))


@dataclass(frozen=True, slots=True)
class PodExplanation:
    """How the first outcome came about: verdicts of nodes, or the reprieve of a group's candidates."""

    nodes: tuple[NodeVerdict, ...] = ()
    steps: tuple[ReprieveStep, ...] = ()
    placement: Mapping[ObjectKey, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodForecast:
    """The answer for one pending Pod or PodGroup."""

    kind: UnitKind
    key: ObjectKey
    mode: SchedulerMode
    outcomes: tuple[PodCycleOutcome, ...]
    is_complete: bool = True
    approximate: tuple[str, ...] = ()
    is_order_dependent: bool = False
    warnings: tuple[str, ...] = ()
    explanation: PodExplanation | None = None

    @property
    def outcome(self) -> PodCycleOutcome:
        """Return the outcome that the present order of nodes and pods suggests."""
        return self.outcomes[0]

    @property
    def alternatives(self) -> tuple[PodCycleOutcome, ...]:
        """Return what may happen instead."""
        return self.outcomes[1:]
