"""`turnstile plan` after a reload: it answers by the rules that are in force now."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from config.loading.loading import Loaded
from config.sections.settings import Configuration
from manager.app.reloading import Followers, Reloading
from tests.integration.orchestrator.asking import asking
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, tenant
from tests.integration.orchestrator.kueue import Obj
from tests.integration.orchestrator.planning import open_hub, urgent_job
from tests.integration.orchestrator.world import World
from tests.support.builders import Builder
from tests.support.clusters import access_to

TWO_VICTIMS: list[Builder] = [queue(), tenant("one", 2), tenant("other", 2)]
ONE_VICTIM: list[Builder] = [queue(), tenant("low")]
ROOMY: list[Builder] = [queue(8)]


@asynccontextmanager
async def planning(directory: Path, setting: dict[str, list[Builder]], **tenants: str) -> AsyncIterator[World]:
    """Run a daemon whose hub has a queue, on workers that admitted these tenants."""
    async with forecasting(directory, setting) as made:
        open_hub(made)
        await passing(made, lambda: all(made[name].condition("Admitted", each) for name, each in tenants.items()))
        await made.settled()
        yield made


async def reload(made: World, **changes: Any) -> None:
    """Do what SIGHUP does with a file that was changed."""
    assert made.daemon is not None
    running = made.configuration()
    made.options |= changes

    def reread() -> Loaded:
        return Loaded(made.configuration(), ())

    def access_of(_configuration: Configuration) -> Any:
        return access_to(made.hub.local)

    assert await Reloading(running, reread, access_of, Followers((made.daemon.prepare,))).reload()


async def chosen(made: World, directory: Path) -> Obj:
    async with asking(made, directory) as asker:
        status, plan = await asker.plan(urgent_job())
    assert status == 200, plan
    found: Obj = plan["chosen"]
    return found


async def test_another_policy_chooses_another_worker(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": TWO_VICTIMS, "w2": ONE_VICTIM}, w1="other", w2="low") as made:
        assert (await chosen(made, tmp_path))["worker"] == "w1"
        await reload(made, gates={"policy": "LeastDisruption"})
        assert (await chosen(made, tmp_path))["worker"] == "w2"
        await reload(made, gates={"policy": "FirstComeFirstServed"})
        assert (await chosen(made, tmp_path))["worker"] == "w1"


async def test_another_dispatcher_gives_another_reason(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": ROOMY, "w2": ONE_VICTIM}, w2="low") as made:
        before = await chosen(made, tmp_path)
        await reload(made, dispatcher={"mode": "ForecastFirst"})
        after = await chosen(made, tmp_path)
        assert before["worker"] == after["worker"] == "w1"
        assert "ForecastFirst" not in before["why"]
        assert "ForecastFirst" in after["why"]
