"""What kube-scheduler would do with the pods of one Workload: verdict, the pods that would have to go, what that costs.

Frozen values without a reference to the model, so that they can be written down and compared later.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from config.api.meta import ObjectKey


class PodVerdict(StrEnum):
    """What an outlook says in one word."""

    FITS = "Fits"
    """Every pod finds a node, and no pod is evicted."""
    EVICTS = "Evicts"
    """Every pod finds a node, and for that these pods are evicted."""
    CANNOT = "Cannot"
    """Not every pod finds a node."""
    AMBIGUOUS = "Ambiguous"
    """The scheduler chooses freely among several outcomes, or there are more than were followed."""
    UNSUPPORTED = "Unsupported"


@dataclass(frozen=True, slots=True)
class PodVictim:
    """A pod that would be evicted."""

    namespace: str
    name: str
    node: str
    priority: int = 0
    group: str = ""
    """The PodGroup that is evicted as a whole; empty for a pod that is evicted alone."""
    running_since_ns: int | None = None
    violates_budget: bool = False

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def written(self) -> str:
        """Return namespace and name."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, order=True)
class PodCost:
    """What evicting pods destroys."""

    pods: int = 0
    accelerator_seconds: int = 0
    """Every resource with a domain in its name, times the time it was held."""
    cpu_seconds: int = 0


@dataclass(frozen=True, slots=True)
class PodOutcome:
    """One thing that may happen: the pods that are evicted, sorted, and whether all pods of the Workload get a node."""

    evicted: tuple[str, ...] = ()
    places_all: bool = True


@dataclass(frozen=True, slots=True)
class PodOutlook:
    """What would become of the pods of one Workload on one worker."""

    verdict: PodVerdict
    made_ns: int
    mode: str = ""
    """Whose rules were followed."""
    message: str = ""
    pods: int = 0
    """How many pods look for a node."""
    victims: tuple[PodVictim, ...] = ()
    """Of the outcome that the present state suggests."""
    outcomes: tuple[PodOutcome, ...] = ()
    """Everything that may happen, the first is the one that the present state suggests."""
    is_complete: bool = True
    """Whether nothing else may happen as far as the rules go."""
    cost: PodCost = field(default_factory=PodCost)
    approximate: tuple[str, ...] = ()
    """What steers the scheduler and is not counted."""

    @property
    def promises(self) -> bool:
        """Return whether the outlook says something that can be right or wrong."""
        return self.verdict is not PodVerdict.UNSUPPORTED and self.is_complete and bool(self.outcomes)


def unsupported(why: str, now_ns: int, mode: str = "") -> PodOutlook:
    """Say that there is no outlook, and why."""
    return PodOutlook(PodVerdict.UNSUPPORTED, now_ns, mode, why)
