"""How a Job's cost reaches its Workload where Kueue does not take it there, and how it can count as a boost.

Both answers are changes of the Workload's annotations: key to value, None for a key to remove, empty if all is right.
The bridge touches only a boost that it wrote itself, which it knows by a mark beside it.
"""

from collections.abc import Mapping
from typing import Final

from config.names import DOMAIN
from engine.cost.facts import JobFacts, WorkloadFacts
from engine.objects.boost import PREEMPTION_COST_ANNOTATION, PRIORITY_BOOST_ANNOTATION

BRIDGED_BOOST: Final = f"{DOMAIN}/bridged-priority-boost"
"""The boost that the bridge wrote last."""

Changes = dict[str, str | None]


def copied_cost(job_annotations: Mapping[str, str], workload_annotations: Mapping[str, str]) -> Changes:
    """Return what makes the Workload carry the Job's cost, or none if the Job has none."""
    wanted = job_annotations.get(PREEMPTION_COST_ANNOTATION)
    if wanted == workload_annotations.get(PREEMPTION_COST_ANNOTATION):
        return {}
    return {PREEMPTION_COST_ANNOTATION: wanted}


def bridged_boost(job: JobFacts, workload: WorkloadFacts) -> Changes:
    """Return what makes the Workload's boost equal to the Job's cost; a cost of 0 needs no boost."""
    if has_foreign_boost(workload):
        return {}
    wanted = str(job.cost) if job.cost else None
    pairs = ((key, workload.annotations.get(key)) for key in (PRIORITY_BOOST_ANNOTATION, BRIDGED_BOOST))
    return {key: wanted for key, current in pairs if current != wanted}


def has_foreign_boost(workload: WorkloadFacts) -> bool:
    """Return whether another writer set the Workload's boost."""
    boost = workload.annotations.get(PRIORITY_BOOST_ANNOTATION)
    return boost is not None and boost != workload.annotations.get(BRIDGED_BOOST)
