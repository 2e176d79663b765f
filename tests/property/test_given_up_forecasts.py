"""A forecast that is given up in the middle leaves the model of its worker as it was, wherever that happens.

The daemon makes forecasts on the models that its watches keep up to date, and gives one up when that takes too
many steps.
"""

from random import Random
from typing import Any

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.forecasting.forecast import forecast
from engine.forecasting.observed import ObservedCluster
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.vocabulary.effort import Effort, TooMuchEffortError
from tests.differential.scenarios import nomination

SEEDS = 60
TRIES = 8


def observed(scenario: dict[str, Any], configuration: KueueConfiguration) -> ObservedCluster:
    cluster = ObservedCluster(configuration)
    for raw in scenario["objects"]:
        if raw["kind"] in ("Namespace", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "Workload"):
            metadata = raw["metadata"]
            value = cluster.read(raw["kind"], raw)
            cluster.put(raw["kind"], metadata.get("namespace") or "", metadata["name"], value)
    return cluster


def state(cluster: ObservedCluster) -> object:
    model = cluster.model
    nodes = [*model.forest.queues(), *model.cohorts()]
    usage = {node.name: {str(fr): cell.usage for fr, cell in node.cells.items()} for node in nodes}
    queues = {queue.name: (queue.generation, [w.key for w in queue.candidates]) for queue in model.forest.queues()}
    return usage, queues, model.objects(), cluster.version, model.forest.counts_generations


@pytest.mark.parametrize("kind", ["classical", "fair"])
def test_S1_a_forecast_that_is_given_up_leaves_no_trace(kind: str) -> None:
    configuration = KueueConfiguration(fair_sharing=FairSharing() if kind == "fair" else None)
    given_up = 0
    for seed in range(SEEDS):
        scenario = nomination(seed, kind)
        cluster, now_ns = observed(scenario, configuration), parse_time(scenario["now"])
        key = ObjectKey(scenario["incoming"]["namespace"], scenario["incoming"]["name"])
        effort = Effort()
        expected, before = forecast(cluster, key, now_ns, effort), state(cluster)
        if effort.spent == 0:
            continue
        draw = Random(seed)  # noqa: S311
        for steps in {0, *(draw.randrange(effort.spent) for _ in range(TRIES))}:
            with pytest.raises(TooMuchEffortError):
                forecast(cluster, key, now_ns, Effort(steps))
            assert state(cluster) == before, f"seed {seed}, {steps} of {effort.spent} steps"
            given_up += 1
        assert forecast(cluster, key, now_ns, Effort(effort.spent)) == expected, "equal questions take equal steps"
    assert given_up > SEEDS
