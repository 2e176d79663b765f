"""`turnstile worker drain`: the plan first, then one Workload after the other, and again where it was cut short."""

from pathlib import Path

from tests.integration.orchestrator.forecasting import passing, pods, queue
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.planning import FULL, URGENT, planning
from tests.integration.orchestrator.worker_commands import worker
from tests.integration.orchestrator.world import World
from tests.support.builders import Builder

EMPTY: list[Builder] = [queue(8)]


async def run_on_w1(made: World, *names: str) -> None:
    """Submit Workloads of 2 CPUs that run on w1, the only worker that has room."""
    for place, name in enumerate(names):
        made.submit_ownerless(name, podSets=pods(2), priority=URGENT + place)
        made.hub.reserve(name)
        await passing(made, lambda name=name: made.check(name)["state"] == "Ready")  # type: ignore[misc]
        assert made.status(name)["clusterName"] == "w1"
    await made.settled()


def states(made: World, *names: str) -> list[str]:
    return [made.check(name)["state"] for name in names]


async def test_a_drain_says_what_would_move_where_and_changes_nothing_before_it_may(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": EMPTY, "w2": FULL}, gates={"policy": "FirstComeFirstServed"}) as made:
        await run_on_w1(made, "one", "two")
        before = made.hub.store.ledger.revision
        rehearsed = await worker(made, "drain", "w1", "--dry-run")
        assert rehearsed.exit_code == 0, rehearsed.output
        assert "2 Workloads would leave w1" in rehearsed.output
        first, second = (line for line in rehearsed.output.splitlines() if line.startswith("team/"))
        assert first.startswith("team/two"), "the most important one moves first"
        assert "w2" in second
        assert "team/low" in second, "what would be preempted is named"
        asked = await worker(made, "drain", "w1")
        assert (asked.exit_code, "--yes" in asked.output) == (2, True)
        assert made.hub.store.ledger.revision == before

        moved = await worker(made, "drain", "w1", "--yes", "--per-minute", "6000")
        assert moved.exit_code == 0, moved.output
        assert moved.output.index("queue: team/two") < moved.output.index("queue: team/one")
        assert states(made, "one", "two") == ["Retry", "Retry"]
        assert 'Drained from worker cluster "w1"' in made.check("one")["message"]
        made.evict_on_hub("one", message="the check asked for it")
        await passing(made, lambda: made.hub.workload("one")["status"].get("clusterName") is None)
        again = await worker(made, "drain", "w1", "--yes", "--wait", "--timeout", "0s")
        assert again.exit_code in (0, 1), again.output
        assert "queue: team/one" not in again.output


async def test_the_last_worker_in_service_is_not_drained(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": EMPTY, "w2": FULL}) as made:
        assert (await worker(made, "cordon", "w2")).exit_code == 0
        refused = await worker(made, "drain", "w1", "--yes")
        assert refused.exit_code == 1
        assert "the last worker in service" in refused.output
        assert "annotations" not in made.hub.get("multikueueclusters", "w1", KUEUE, "")["metadata"]
        unknown = await worker(made, "drain", "w9", "--yes")
        assert (unknown.exit_code, "no MultiKueueCluster w9" in unknown.output) == (2, True)
        wrong = await worker(made, "drain", "w1", "--yes", "--per-minute", "0")
        assert wrong.exit_code == 2


async def test_an_idle_worker_is_cordoned(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": EMPTY, "w2": FULL}) as made:
        result = await worker(made, "drain", "w1", "--yes", "--wait")
        assert result.exit_code == 0, result.output
        assert "nothing of the hub runs on w1" in result.output
        assert "cordoned w1" in result.output
