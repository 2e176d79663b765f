"""From a queued job to its end: dispatch, gate, winner, status, finish, cleanup."""

from functools import partial
from pathlib import Path
from typing import Any

from localcluster.serving.faults import Latency
from tests.integration.orchestrator.world import running

READS = ("get", "list")
WRITES = ("create", "patch", "update", "delete")


async def test_a_job_is_dispatched_gated_won_followed_and_cleaned_up(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        await world.settled()
        assert world.status()["nominatedClusterNames"] == ["w1", "w2"]
        world["w2"].block()
        await world.until(lambda: world["w2"].gate() == "Open")
        world["w1"].block()
        await world.settled()
        assert world["w1"].gate() == "Closed"
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        assert world.status()["clusterName"] == "w2"
        assert world.holders() == ["w2"]
        assert world["w2"].get("jobs", "job-wl", "batch")
        world["w2"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        await world.settled()
        assert world.holders() == []
        assert world["w2"].find("jobs", "job-wl", "batch") is None


def succeed(now: str, status: dict[str, Any]) -> None:
    """Let a job be over."""
    entry = {"status": "True", "lastProbeTime": now, "lastTransitionTime": now}
    conditions = [{"type": kind, **entry} for kind in ("SuccessCriteriaMet", "Complete")]
    status.update(startTime=now, completionTime=now, succeeded=1, conditions=conditions)


async def test_nothing_is_read_from_workers_but_through_watches(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        counted = {
            name: {verb: cluster.local.faults.add(Latency(0), verb=verb) for verb in (*READS, *WRITES)}
            for name, cluster in world.workers.items()
        }
        for number in range(5):
            world.queue(f"wl-{number}")
        names = [f"wl-{number}" for number in range(5)]
        await world.until(lambda: all(len(world.holders(name)) == 2 for name in names))
        await world.settled()
        for name in names:
            world["w1"].admit(name)
        await world.until(lambda: all(world.check(name)["state"] == "Ready" for name in names))
        for name in names:
            await world.until(lambda name=name: world["w1"].find("jobs", f"job-{name}", "batch"))  # type: ignore[misc]
            world["w1"].change_status("jobs", f"job-{name}", partial(succeed, world["w1"].now()), "batch")
        await world.settled()
        for name in names:
            world["w1"].finish(name)
        await world.until(lambda: not any(world.holders(name) for name in names))
        await world.settled()
        for faults in counted.values():
            assert [verb for verb in READS if faults[verb].hits] == []
        requests = sum(faults[verb].hits for faults in counted.values() for verb in WRITES)
        assert requests <= 3 * len(names) * len(world.workers)


async def test_our_own_writes_do_not_conflict_with_each_other(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].block()
        await world.until(lambda: world["w1"].gate() == "Open")
        await world.settled()
        patches = world.hub.local.faults.add(Latency(0), verb="patch", plural="workloads")
        version = int(world.hub.workload()["metadata"]["resourceVersion"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        assert patches.hits == 2, "the choice, then Ready"
        assert int(world.hub.workload()["metadata"]["resourceVersion"]) > version


async def test_the_job_is_copied_without_reading_the_hub(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        reads = world.hub.local.faults.add(Latency(0), verb="get", plural="jobs")
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        copied, original = world["w1"].get("jobs", "job-wl", "batch"), world.hub.get("jobs", "job-wl", "batch")
        assert copied["spec"]["template"]["spec"] == original["spec"]["template"]["spec"]
        assert reads.hits == 0
