"""The section of the cost controller: what is refused, and what deserves a warning."""

from datetime import timedelta

import pytest

from config.loading.loading import did_you_mean
from config.types.choices import CostPlace
from tests.unit.config.documents import HEADER, load, problems_of

MISTAKES = {
    "an unknown place": (
        "costController: {clusters: [hub]}\n",
        'costController.clusters[0]: "hub" is not allowed: one of Hub, Workers',
    ),
    "no place": (
        "costController: {clusters: []}\n",
        "costController.clusters: a list is not allowed: at least one of Hub, Workers",
    ),
    "a bound of nothing": (
        "costController: {maxCost: 0}\n",
        "costController.maxCost: 0 is not allowed: a whole number from 1 to 2147483647",
    ),
    "a bound beyond the annotation's": (
        "costController: {maxCost: 1000000000000}\n",
        "costController.maxCost: 1000000000000 is not allowed: a whole number from 1 to 2147483647",
    ),
    "a negative increment": (
        "costController: {runningIncrement: -1}\n",
        "costController.runningIncrement: -1 is not allowed: a whole number from 0 to 2147483647",
    ),
    "an increment above the bound": (
        "costController: {runningIncrement: 11, maxCost: 10}\n",
        "costController.runningIncrement: 11 is not allowed: at most maxCost, which is 10",
    ),
    "a model without a name": (
        'costController: {model: ""}\n',
        'costController.model: "" is not allowed: the name of an installed cost model (for example "reference")',
    ),
    "a model that is no name": (
        "costController: {model: os:system}\n",
        'costController.model: "os:system" is not allowed: the name of an installed cost model',
    ),
    "too fast": (
        "costController: {refreshInterval: 10ms}\n",
        'costController.refreshInterval: "10ms" is not allowed: a duration of at least 1s',
    ),
    "a boost on a hub without costs": (
        "costController: {clusters: [Workers], priorityBoost: {hub: true}}\n",
        "without hub, because clusters does not list Hub",
    ),
    "a boost on workers without costs": (
        "costController: {clusters: [Hub], priorityBoost: {workers: [w1]}}\n",
        "without workers, because clusters does not list Workers",
    ),
    "a boost on a worker that is not there": (
        "discovery: {enabled: false}\n"
        "workers: [{name: w1, kubeconfig: {secret: {name: w1}}}]\n"
        "costController: {priorityBoost: {workers: [w1, w2]}}\n",
        'costController.priorityBoost.workers[1]: "w2" is not allowed: the name of one of workers, '
        "because discovery.enabled is false",
    ),
    "an unknown field": ("costController: {modle: x}\n", f"costController.modle: {did_you_mean('model')}"),
}


@pytest.mark.parametrize(("body", "want"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_once(body: str, want: str) -> None:
    (problem,) = problems_of(HEADER + body)
    assert want in str(problem)


def test_everything_set() -> None:
    costs = load(
        "costController: {enabled: true, clusters: [Workers], model: ours, maxCost: 50, runningIncrement: 5, "
        "refreshInterval: 0, copyToWorkloads: true}\n"
    ).configuration.cost_controller
    assert (costs.enabled, costs.clusters, costs.model) == (True, (CostPlace.WORKERS,), "ours")
    assert (costs.max_cost, costs.running_increment, costs.refresh_interval) == (50, 5, timedelta(0))
    assert costs.copy_to_workloads


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("costController: {priorityBoost: {hub: true}}\n", "also who may preempt whom, and the order in the queues"),
        ("costController: {priorityBoost: {workers: [w1]}}\n", "also who may preempt whom"),
        ("costController: {model: checkpoint, refreshInterval: 0}\n", "grow with time, and are not refreshed"),
    ],
    ids=["a boost on the hub", "a boost on a worker", "a checkpoint without a refresh"],
)
def test_warnings(body: str, want: str) -> None:
    (warning,) = load(body).warnings
    assert want in str(warning)
