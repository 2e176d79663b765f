"""Facts for tests of costs: one Job with one Workload, until told otherwise."""

from typing import Any

from engine.cost.facts import QUEUE_LABEL, CostFacts, JobFacts, WorkloadFacts
from engine.cost.models import CostModel, reference
from engine.cost.rules import CostPolicy

MINUTE = 60 * 10**9
NOW = 1_000_000 * MINUTE
COST = "kueue.x-k8s.io/preemption-cost"
BOOST = "kueue.x-k8s.io/priority-boost"


def a_job(**changes: Any) -> JobFacts:
    return JobFacts(**{"namespace": "ns", "name": "j", "uid": "j", "labels": {QUEUE_LABEL: "q"}, **changes})


def a_workload(**changes: Any) -> WorkloadFacts:
    return WorkloadFacts(**{"namespace": "ns", "name": "w", "uid": "w", "owner": "j", "owner_uid": "j", **changes})


def preempted(times: int, **changes: Any) -> WorkloadFacts:
    return a_workload(evictions={"Preempted": times}, **changes)


def facts(job: JobFacts | None = None, workload: WorkloadFacts | None = None) -> CostFacts:
    return CostFacts(job or a_job(), workload or a_workload(), NOW)


def policy(model: CostModel = reference, **changes: Any) -> CostPolicy:
    return CostPolicy(model, "mine", **changes)
