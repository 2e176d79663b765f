"""The roles that ship are what the controller needs: it works with them, and uses every verb of them."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from localcluster.serving.faults import Latency
from manager.cost.copywatch import PATIENCE_SECONDS
from manager.cost.propagating import CostPropagation
from tests.integration.cost.roles import Recorded, documents, rules_of
from tests.integration.cost.world import BOOST, COST, CostWorld, cost_world

BASE = "cost-controller"


def test_r12_the_base_role_is_exactly_what_the_kep_asks_for() -> None:
    granted = {(*rule.groups, *rule.resources): set(rule.verbs) for rule in rules_of(BASE)}
    assert granted == {
        ("batch", "jobs"): {"get", "list", "watch", "patch"},
        ("kueue.x-k8s.io", "workloads"): {"get", "list", "watch"},
    }


@pytest.mark.parametrize("name", [BASE, f"{BASE}-copy", f"{BASE}-bridge", f"{BASE}-events"])
def test_each_role_is_bound_under_its_name(name: str) -> None:
    role, binding = documents(name)
    assert (role["kind"], binding["kind"]) == ("ClusterRole", "ClusterRoleBinding")
    assert role["metadata"]["name"] == binding["metadata"]["name"] == binding["roleRef"]["name"] == f"turnstile-{name}"


def is_all_used(rules: tuple[Recorded, ...]) -> bool:
    """Return whether every verb was used; two roles may grant the same."""
    used = {use for rule in rules for use in rule.used}
    return used == {grant for rule in rules for grant in rule.granted}


async def live(world: CostWorld) -> None:
    """Let everything happen that needs a verb: a write, a conflict, an invalid value."""
    world.submit("j", {COST: "dear"}, preempted=1)
    await world.start()
    slow = world.cluster.local.faults.add(Latency(1), verb="patch", plural="jobs", times=1)
    world.preempt()
    await world.until(lambda: slow.hits)
    world.annotate_job({"team/owner": "a"})
    await world.clock.advance(1)
    await world.until(lambda: world.cost() == "2")
    await world.settled()


async def test_r12_the_base_role_is_enough_and_none_of_it_is_superfluous(tmp_path: Path) -> None:
    rules = rules_of(BASE)
    async with cost_world(tmp_path, rules=rules) as world:
        with capture_logs() as lines:
            await live(world)
        assert is_all_used(rules)
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["event.forbidden"]
        assert world.events() == []


async def test_r12_events_need_their_own_role(tmp_path: Path) -> None:
    rules = rules_of(BASE, f"{BASE}-events")
    async with cost_world(tmp_path, rules=rules) as world:
        await live(world)
        assert is_all_used(rules)
        assert [event["reason"] for event in world.events()] == ["InvalidPreemptionCost"]


@pytest.mark.parametrize(
    ("name", "propagation", "want"),
    [
        (f"{BASE}-copy", CostPropagation(copies=True), COST),
        (f"{BASE}-bridge", CostPropagation(bridges=True), BOOST),
    ],
    ids=["copy", "bridge"],
)
async def test_r12_copy_and_bridge_need_their_own_role(
    tmp_path: Path, name: str, propagation: CostPropagation, want: str
) -> None:
    rules = rules_of(BASE, name)
    async with cost_world(tmp_path, rules=rules) as world:
        world.propagation = propagation
        await live(world)
        await world.pass_time(PATIENCE_SECONDS)
        await world.until(lambda: world.workload_annotations().get(want) == "2")
        assert is_all_used(rules)


async def test_without_the_role_the_copy_fails_by_name_and_the_cost_is_written_all_the_same(tmp_path: Path) -> None:
    async with cost_world(tmp_path, rules=rules_of(BASE)) as world:
        world.propagation = CostPropagation(bridges=True)
        world.submit(preempted=1)
        with capture_logs() as lines:
            await world.start()
            await world.until(lambda: world.cost() == "1")
            await world.settled()
        (problem,) = [line["error"] for line in lines if line["event"] == "cost.unwritten"]
        assert 'cannot patch resource "workloads"' in problem
