"""What is to be written about the cost of one Job: the rules around every model.

The rules bound what a model says, leave other writers' values alone, and make sure that a second reconcile of the
same state writes nothing. A model is third-party code: whatever it does, the answer is a value or one sentence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.cost.facts import QUEUE_LABEL, CostFacts, JobFacts, WorkloadFacts
from engine.cost.models import CostModel

LEAST: Final = -(2**31)
MOST: Final = 2**31 - 1
"""What the annotation can hold."""


@dataclass(frozen=True, slots=True)
class CostPolicy:
    """How costs are computed."""

    model: CostModel
    model_name: str
    running_increment: int = 0
    """Added while all pods are ready."""
    max_cost: int = 1000


class Untouched(StrEnum):
    """Why nothing is written."""

    NOT_MANAGED = "the Job names no queue"
    FINISHED = "the Job is finished"
    DELETED = "the Job is being deleted"
    NO_WORKLOAD = "the Job has no Workload that is not finished"
    UP_TO_DATE = "the annotation is right"


@dataclass(frozen=True, slots=True)
class Leave:
    """Write nothing."""

    reason: Untouched


@dataclass(frozen=True, slots=True)
class WriteCost:
    """Write this cost."""

    cost: int
    previous: str | None
    replaces_invalid: bool

    @property
    def text(self) -> str:
        """Return the value of the annotation."""
        return str(self.cost)


@dataclass(frozen=True, slots=True)
class KeepCost:
    """Leave the last good value, because the model gave none."""

    problem: str


CostDecision = Leave | WriteCost | KeepCost


def current_workload(workloads: Iterable[WorkloadFacts]) -> WorkloadFacts | None:
    """Return the newest Workload that is neither finished nor being deleted."""
    alive = (workload for workload in workloads if not workload.is_finished and not workload.is_deleted)
    return max(alive, key=lambda workload: (workload.created_ns, workload.uid), default=None)


def decide_cost(job: JobFacts, workload: WorkloadFacts | None, policy: CostPolicy, now_ns: int) -> CostDecision:
    """Say what to write about a Job whose current Workload this is."""
    if not job.labels.get(QUEUE_LABEL):
        return Leave(Untouched.NOT_MANAGED)
    if job.is_finished:
        return Leave(Untouched.FINISHED)
    if job.is_deleted:
        return Leave(Untouched.DELETED)
    if workload is None:
        return Leave(Untouched.NO_WORKLOAD)
    computed = _ask(policy, CostFacts(job, workload, now_ns))
    if isinstance(computed, KeepCost):
        return computed
    increment = policy.running_increment if workload.has_pods_ready else 0
    cost = min(max(computed + increment, 0), policy.max_cost)
    is_invalid = job.cost_text is not None and job.cost is None
    if not is_invalid and (job.cost or 0) == cost:
        return Leave(Untouched.UP_TO_DATE)
    return WriteCost(cost, job.cost_text, is_invalid)


def _ask(policy: CostPolicy, facts: CostFacts) -> int | KeepCost:
    name = policy.model_name
    try:
        computed: object = policy.model(facts)
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything, and must not stop the other jobs
        return KeepCost(f"cost model {name} failed: {type(error).__name__}: {error}")
    if isinstance(computed, int) and not isinstance(computed, bool) and LEAST <= computed <= MOST:
        return computed
    shown = repr(computed) if isinstance(computed, int | float | str) else f"a {type(computed).__name__}"
    return KeepCost(
        f"cost model {name} returned {shown[:_LONGEST_SHOWN]}: must be a whole number from {LEAST} to {MOST}"
    )


_LONGEST_SHOWN: Final = 64
