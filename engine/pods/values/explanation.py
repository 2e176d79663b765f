"""Why nodes and units were chosen or not: data for people and programs to print."""

from dataclasses import dataclass
from enum import StrEnum

from config.api.meta import ObjectKey
from engine.pods.values.load import Shortage


class NodeAnswer(StrEnum):
    """What a node says to a pod."""

    FITS = "Fits"
    CORDONED = "Cordoned"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    AFFINITY_MISMATCH = "AffinityMismatch"
    TOO_SMALL = "TooSmall"
    NO_ROOM = "NoRoom"
    NO_VICTIMS = "NoLowerPriority"
    STILL_INFEASIBLE = "StillInfeasible"
    CANDIDATE = "Candidate"


@dataclass(frozen=True, slots=True)
class ReprieveStep:
    """One unit that was put back, or could not be because of `shortages` on `node`."""

    unit: ObjectKey
    priority: int
    is_violating: bool
    is_kept: bool
    node: str = ""
    shortages: tuple[Shortage, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """By what nodes are compared, the first difference decides: all but the start are better when smaller."""

    violations: int
    top_priority: int
    priority_sum: int
    victim_pods: int
    earliest_start_ns: int

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """Return what orders candidates, best first."""
        return self.violations, self.top_priority, self.priority_sum, self.victim_pods, -self.earliest_start_ns


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What one node has to offer for one pod."""

    node: str
    answer: NodeAnswer
    shortages: tuple[Shortage, ...] = ()
    steps: tuple[ReprieveStep, ...] = ()
    score: CandidateScore | None = None
    is_chosen: bool = False
