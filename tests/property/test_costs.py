"""Costs for any state of the objects: within the bounds, and a second look at the result writes nothing."""

from hypothesis import given
from hypothesis import strategies as st

from engine.cost.facts import JobFacts, WorkloadFacts
from engine.cost.models import LAST_CHECKPOINT, PROGRESS, SHIPPED
from engine.cost.propagation import BRIDGED_BOOST, bridged_boost, copied_cost
from engine.cost.rules import CostPolicy, Leave, Untouched, WriteCost, decide_cost
from engine.objects.boost import PREEMPTION_COST_ANNOTATION as COST
from engine.objects.boost import PRIORITY_BOOST_ANNOTATION as BOOST
from tests.unit.engine.cost.cases import NOW, a_job, a_workload

VALUES = st.one_of(st.text(max_size=12), st.integers().map(str), st.floats().map(str), st.just("2026-01-01T00:00:00Z"))
ANNOTATIONS = st.dictionaries(st.sampled_from([COST, BOOST, BRIDGED_BOOST, LAST_CHECKPOINT, PROGRESS, "a"]), VALUES)
COUNTS = st.integers(0, 2**40)
JOBS = st.builds(a_job, annotations=ANNOTATIONS, completions=st.none() | COUNTS, succeeded=COUNTS)
WORKLOADS = st.builds(
    a_workload,
    annotations=ANNOTATIONS,
    pods=COUNTS,
    evictions=st.dictionaries(st.sampled_from(["Preempted", "Deactivated"]), COUNTS),
    admitted_ns=st.none() | st.integers(0, 2 * NOW),
    has_pods_ready=st.booleans(),
)
POLICIES = st.builds(
    lambda name, increment, bound: CostPolicy(SHIPPED[name], name, increment, bound),
    st.sampled_from(sorted(SHIPPED)),
    st.integers(0, 10),
    st.integers(10, 2**31 - 1),
)


@given(JOBS, WORKLOADS, POLICIES)
def test_a_cost_is_bounded_and_written_once(job: JobFacts, workload: WorkloadFacts, policy: CostPolicy) -> None:
    decision = decide_cost(job, workload, policy, NOW)
    if isinstance(decision, WriteCost):
        assert 0 <= decision.cost <= policy.max_cost
        after = a_job(
            annotations={**job.annotations, COST: decision.text}, completions=job.completions, succeeded=job.succeeded
        )
        assert decide_cost(after, workload, policy, NOW) == Leave(Untouched.UP_TO_DATE)


@given(JOBS, WORKLOADS)
def test_what_is_propagated_is_propagated_once(job: JobFacts, workload: WorkloadFacts) -> None:
    changes = copied_cost(job.annotations, workload.annotations) | bridged_boost(job, workload)
    merged = {**workload.annotations, **changes}
    after = a_workload(annotations={key: text for key, text in merged.items() if text is not None})
    assert copied_cost(job.annotations, after.annotations) == {}
    assert bridged_boost(job, after) == {}
