"""What a prediction says, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from config.api.meta import ObjectKey
from engine.vocabulary.assignment import AssignmentMode, ScanMemory
from engine.vocabulary.messages import PreemptionReason
from engine.vocabulary.topology import DelayedTopology, FitCheck, TopologyAssignment, TopologyShortage

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
    mode: AssignmentMode = AssignmentMode.FIT
    """The worst of its modes, as far as it has a reason of its own."""
    topology: TopologyAssignment | None = None
    """Where its pods would go; for a preemption, once the victims are gone."""
    delayed_topology: DelayedTopology | None = None
    shortage: TopologyShortage | None = field(default=None, compare=False)
    """What was free where its quota was there and its nodes were not."""


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
    nomination_message: str = ""
    """What the nomination itself says, whatever came of it afterwards."""
    fits: FitCheck | None = None
    """The check just before it is admitted or preempts; None where it does not come so far."""
    scan_memory: ScanMemory = ()
    """Where the flavor scan ended; its next turn goes on from there."""
    victims: tuple[Victim, ...] = ()
    """Sorted by key; a set, the order carries no meaning."""
    labels: tuple[str, ...] = ()
    """What the answer rests on, where it is not all that could matter."""
    alternatives: tuple["Prediction", ...] = ()
    """All possible answers where Kueue itself leaves it to chance."""
    explanation: "NominationExplanation | None" = None
