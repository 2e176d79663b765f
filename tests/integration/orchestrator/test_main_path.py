"""From a queued job to its end: dispatch, gate, winner, status, finish, cleanup."""

from pathlib import Path

from tests.integration.orchestrator.world import running


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
