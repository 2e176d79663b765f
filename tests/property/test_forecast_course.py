"""A forecast of one workload ends where a simulation of the whole cluster ends, victims and flavors included.

The simulation runs cycle after cycle with queues, scan memory and victims that come back; the forecast follows one
workload alone. They must agree whenever no other workload takes part: then both say what Kueue would do.
"""

from collections import Counter
from typing import Any

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cycles.simulation import Plan, Simulation, simulate
from engine.forecasting.course import follow
from engine.objects.configuration import KueueConfiguration
from engine.prediction.what_if import WhatIf
from engine.vocabulary.decision import Outcome
from tests.differential.scenarios import nomination

Json = dict[str, Any]
Ending = tuple[str, frozenset[ObjectKey], frozenset[tuple[str, str]]]

SEEDS = 600
_UNCERTAIN = (Outcome.UNSUPPORTED, Outcome.AMBIGUOUS)


def alone(scenario: Json) -> list[Json]:
    """Return the objects without anybody else who waits, or is about to."""
    name = scenario["incoming"]["name"]
    return [each for each in scenario["objects"] if each["kind"] != "Workload" or _stays(each, name)]


def _stays(workload: Json, name: str) -> bool:
    status = workload.get("status") or {}
    if workload["metadata"]["name"] == name:
        workload["status"] = {}
        return True
    leaving = any(each["type"] in ("Evicted", "Finished") for each in status.get("conditions") or ())
    return "admission" in status and workload["spec"].get("active", True) and not leaving


def simulated(result: Simulation, key: ObjectKey) -> Ending | None:
    """Return how it ends for a workload; None where others take part."""
    victims: set[ObjectKey] = set()
    last = None
    for step in result.steps:
        if last is not None and last.outcome is Outcome.ADMIT:
            break
        for entry in step.cycle.entries:
            if entry.key != key:
                return None
            last = entry
            victims |= {victim.key for victim in entry.victims} if entry.outcome is Outcome.PREEMPT else set()
    if last is None or result.alternatives:
        return None
    if last.outcome is not Outcome.ADMIT:
        return ("stuck" if victims else "cannot"), frozenset(victims), frozenset()
    flavors = frozenset(pair for pod_set in last.pod_sets for pair in pod_set.flavors.items())
    return "admitted", frozenset(victims), flavors


def forecast(objects: list[Json], key: ObjectKey, now_ns: int, configuration: KueueConfiguration) -> Ending | None:
    model = ClusterModel(configuration)
    for raw in objects:
        reduced = model.reduce(raw)
        if reduced is not None:
            model.put(*reduced)
    with WhatIf(model) as what_if:
        found = follow(model, what_if, key, now_ns)
    if found.outcome in _UNCERTAIN:
        return None
    victims = frozenset(victim.key for victim in found.victims)
    if found.outcome not in (Outcome.ADMIT, Outcome.PREEMPT):
        return "cannot", victims, frozenset()
    flavors = frozenset(pair for pod_set in found.pod_sets for pair in pod_set.flavors.items())
    return "admitted", victims, flavors


def test_following_one_workload_agrees_with_simulating_all() -> None:
    compared: Counter[str] = Counter()
    for seed in range(SEEDS):
        scenario = nomination(seed, "classical")
        objects, now_ns = alone(scenario), parse_time(scenario["now"])
        configuration = KueueConfiguration()
        key = ObjectKey(scenario["incoming"]["namespace"], scenario["incoming"]["name"])
        want = simulated(simulate(objects, now_ns, configuration, Plan(max_cycles=40)), key)
        got = forecast(objects, key, now_ns, configuration)
        if want is None or got is None or want[0] == "stuck":
            continue
        assert got == want, f"seed {seed}"
        compared[f"{want[0]} after {'preempting' if want[1] else 'nothing'}"] += 1
    assert min(compared.values()) > 20, compared
    assert len(compared) == 3, compared
