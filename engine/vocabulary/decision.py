"""What a prediction says, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from config.api.meta import ObjectKey
from engine.vocabulary.assignment import AssignmentMode
from engine.vocabulary.messages import PreemptionReason

if TYPE_CHECKING:
    from engine.reporting.explanation import NominationExplanation


class Outcome(StrEnum):
    """What Kueue would do with the workload when its turn comes."""

    ADMIT = "Admit"
    PREEMPT = "Preempt"
    NO_FIT = "NoFit"
    PREEMPT_NO_CANDIDATES = "PreemptNoCandidates"
    SKIPPED = "Skipped"
    GATED = "Gated"
    INADMISSIBLE = "Inadmissible"
    NOT_QUEUED = "NotQueued"
    UNSUPPORTED = "Unsupported"
    AMBIGUOUS = "Ambiguous"


@dataclass(frozen=True, slots=True, order=True)
class Victim:
    """A workload that would be preempted."""

    key: ObjectKey
    cluster_queue: str
    reason: PreemptionReason
    cost: int = 0
    """The preemption cost that entered the decision."""


@dataclass(frozen=True, slots=True)
class PodSetPrediction:
    """The flavors a pod set would get; empty where the workload does not fit."""

    name: str
    count: int
    flavors: Mapping[str, str]
    usage: Mapping[str, int]
    modes: Mapping[str, AssignmentMode]
    borrow_levels: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer for one workload."""

    key: ObjectKey
    outcome: Outcome
    message: str = ""
    cluster_queue: str = ""
    mode: AssignmentMode = AssignmentMode.NO_FIT
    pod_sets: tuple[PodSetPrediction, ...] = ()
    reduced_counts: Mapping[str, int] = field(default_factory=dict)
    """Pod sets that would run with fewer pods than asked for."""
    borrowing: int | None = None
    victims: tuple[Victim, ...] = ()
    """Sorted by key; a set, the order carries no meaning."""
    labels: tuple[str, ...] = ()
    """What the answer rests on, where it is not all that could matter."""
    alternatives: tuple["Prediction", ...] = ()
    """All possible answers where Kueue itself leaves it to chance."""
    explanation: "NominationExplanation | None" = None
