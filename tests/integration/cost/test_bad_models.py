"""A model that misbehaves: the job keeps its last good value, one clear error, the others go on."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.cost.facts import CostFacts
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural.builder import preserved
from tests.integration.cost.world import CLUSTER, COST, cost_world

ANY_JOB = ServedKind(
    group="batch",
    version="v1",
    kind="Job",
    plural="jobs",
    singular="job",
    namespaced=True,
    has_status=True,
    schema=resource({"spec": preserved(), "status": preserved()}),
)
"""The Job of a server that validates nothing."""


def explode(_facts: CostFacts) -> int:
    raise RuntimeError("no such GPU")


@pytest.mark.parametrize(
    ("misbehave", "want"),
    [
        (explode, "cost model mine failed: RuntimeError: no such GPU; the cost stays 4"),
        (lambda _: float("nan"), "cost model mine returned nan: must be a whole number from"),
        (lambda _: "7", "cost model mine returned '7': must be a whole number from"),
        (lambda _: 10**12, "cost model mine returned 1000000000000: must be a whole number from"),
    ],
    ids=["raises", "NaN", "a string", "10^12"],
)
async def test_a_model_that_misbehaves_about_one_job(tmp_path: Path, misbehave: Any, want: str) -> None:
    def model(facts: CostFacts) -> Any:
        return misbehave(facts) if facts.job.name == "bad" else facts.preemptions

    async with cost_world(tmp_path) as world:
        world.model = model
        world.submit("bad", {COST: "4"}, preempted=1)
        world.submit("good", preempted=1)
        with capture_logs() as lines:
            await world.start()
            world.preempt("bad")
            world.preempt("good")
            await world.until(lambda: world.cost("good") == "2")
            await world.settled()
        assert world.cost("bad") == "4"
        (complaint,) = [line for line in lines if line["log_level"] == "error"]
        assert (complaint["event"], complaint["job"]) == ("cost.complaint", "team/bad")
        assert want in complaint["problem"]
        (event,) = world.events()
        assert (event["reason"], event["involvedObject"]["name"]) == ("PreemptionCostUnknown", "bad")
        assert world.metrics.value("turnstile_cost_invalid_values_total", cluster=CLUSTER, origin="model") >= 2
        assert world.metrics.value("turnstile_cost_reconcile_errors_total", cluster=CLUSTER) >= 2


async def test_a_model_that_recovers_is_asked_again(tmp_path: Path) -> None:
    answers = iter([10**12, 5])

    async with cost_world(tmp_path) as world:
        world.model = lambda _: next(answers, 5)
        world.submit()
        await world.start()
        assert world.cost() is None
        await world.pass_time(world.refresh_seconds)
        assert world.cost() == "5"


async def test_an_object_that_is_malformed_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    kinds = (*(kind for kind in all_kinds() if (kind.group, kind.kind) != ("batch", "Job")), ANY_JOB)
    async with cost_world(tmp_path, kinds=kinds) as world:
        world.submit("bad", preempted=1)
        world.submit("good", preempted=1)
        world.cluster.change("jobs", "bad", lambda raw: raw["spec"].update(completions="many"), "batch")
        with capture_logs() as lines:
            await world.start()
        assert (world.cost("bad"), world.cost("good")) == (None, "1")
        problems = {line["problem"] for line in lines if line["event"] == "cost.unreadable"}
        assert problems == {"spec.completions: 'many' is not allowed: must be a whole number, not negative"}
