"""Random clusters: whatever is forecast for a gated Workload is what the stand-in for Kueue then does.

The cluster fills up by itself, under random quotas, cohorts, flavors and policies; a gated Workload comes and asks; its
forecast is made from the objects alone; the gate opens; and what happened is compared.
"""

from collections import Counter
from random import Random

from config.api.meta import ObjectKey, conditions, is_true
from engine.forecasting.forecast import flavors_of, forecast
from engine.forecasting.observed import OBSERVED_KINDS, ObservedCluster
from engine.forecasting.verification import Evicted, Happened, Result, judge
from localcluster.kueue.profile import CURRENT
from tests.builders import NAMESPACE, ClusterQueueBuilder, WorkloadBuilder, cluster_queue, workload
from tests.integration.kueue.stage import GATE, Stage

ROUNDS = 100
QUEUES = ("a", "b", "c")
KEY = ObjectKey(NAMESPACE, "asking")
ALONE = "AdmissionCheck", "RuntimeClass", "LimitRange"


def random_queue(draw: Random, name: str, *, flavors: int) -> ClusterQueueBuilder:
    built = cluster_queue(name).preemption(
        within=draw.choice(["Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"]),
        reclaim=draw.choice(["Never", "LowerPriority", "Any"]),
    )
    parent = draw.choice(["", "l", "r", "l", "r"])
    for flavor in "fg"[:flavors]:
        built = built.quota(flavor, cpu=draw.randint(2, 6), memory=draw.randint(2, 6))
        if parent and draw.random() < 0.3:
            built = built.borrowing_limit(flavor, cpu=draw.randint(0, 4))
    built = built.fungibility(preempt=draw.choice(["MayStopSearch", "TryNextFlavor"]))
    return built.cohort(parent) if parent else built


def random_workload(draw: Random, name: str) -> WorkloadBuilder:
    requests = {"cpu": draw.randint(1, 4), "memory": draw.randint(0, 3)}
    return workload(name).queue(draw.choice(QUEUES)).priority(draw.choice([0, 0, 5, 10])).request(requests)


def observe(stage: Stage) -> ObservedCluster:
    observed = ObservedCluster(CURRENT.configuration)
    for kind in OBSERVED_KINDS:
        for raw in stage.all(kind) if kind not in ALONE else ():
            metadata = raw["metadata"]
            observed.put(kind, metadata.get("namespace") or "", metadata["name"], observed.read(kind, raw))
    return observed


def crowded(draw: Random) -> Stage:
    """Return a worker on which much was submitted, some of it running, and one gated Workload of high priority."""
    flavors = draw.choice([1, 1, 2])
    stage = Stage().given(*(random_queue(draw, name, flavors=flavors) for name in QUEUES))
    for number in range(draw.randint(2, 12)):
        stage.submit(random_workload(draw, f"w{number}")).advance(draw.choice([0, 1, 3]))
    gates = [{"name": GATE}]
    asking = random_workload(draw, KEY.name).priority(draw.choice([5, 20])).with_spec(preemptionGates=gates)
    return stage.submit(asking).advance(1)


def outcome(stage: Stage) -> Happened:
    observed = observe(stage)
    asking = observed.tenants[KEY]
    evicted = [
        Evicted(key.namespace, key.name, tenant.uid, tenant.preempted.reason)
        for key, tenant in observed.victims_of(asking.uid)
        if tenant.preempted is not None
    ]
    has_quota = is_true(conditions(stage.workload(KEY.name)), "QuotaReserved")
    return Happened(has_quota=has_quota, flavors=flavors_of(asking), evicted=tuple(evicted))


def test_forecasts_come_true() -> None:
    results: Counter[Result] = Counter()
    missed = []
    seed = 0
    while results.total() < ROUNDS:
        seed += 1
        stage = crowded(Random(f"forecast {seed}"))  # noqa: S311 - to be repeated
        if not stage.holds(KEY.name, "BlockedOnPreemptionGates"):
            continue
        promised = forecast(observe(stage), KEY, stage.kueue.now_ns())
        stage.open_gate(KEY.name).advance(5)
        judged = judge(promised, (), outcome(stage))
        results[judged.result] += 1
        if judged.result not in (Result.EXACT, Result.NONE):
            missed.append(f"seed {seed}: {judged.result}: {judged.message}")
    assert not missed, f"{len(missed)} of {results.total()} forecasts\n" + "\n".join(missed[:5])
    assert results[Result.EXACT] > ROUNDS * 0.9, results
