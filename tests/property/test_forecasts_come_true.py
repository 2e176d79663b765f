"""Random clusters: whatever is forecast for a gated Workload is what the stand-in for Kueue then does.

The cluster fills up by itself, under random quotas, cohorts, flavors and policies; a gated Workload comes and asks; its
forecast is made from the objects alone; the gate opens; and what happened is compared.
"""

from collections import Counter
from random import Random

from config.api.meta import conditions, is_true
from engine.forecasting.forecast import flavors_of, forecast
from engine.forecasting.verification import Evicted, ForecastResult, Happened, judge
from tests.integration.kueue.stage import Stage
from tests.property.crowded_clusters import KEY, crowded, observe

ROUNDS = 100


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
    results: Counter[ForecastResult] = Counter()
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
        if judged.result not in (ForecastResult.EXACT, ForecastResult.NONE):
            missed.append(f"seed {seed}: {judged.result}: {judged.message}")
    assert not missed, f"{len(missed)} of {results.total()} forecasts\n" + "\n".join(missed[:5])
    assert results[ForecastResult.EXACT] > ROUNDS * 0.9, results
