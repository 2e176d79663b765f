"""The pictures of `turnstile top` in docs/cli.md: jobs in different states on three workers."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from localcluster.kueue.profile import CURRENT
from localcluster.kueue.stand_in import LocalKueue
from manager.cli.conventions.daemon import daemon_of
from manager.cli.conventions.options import DaemonOptions
from manager.cli.top.app import TopApp
from manager.cli.top.source import FleetQuestion, TopSource
from tests.integration.orchestrator.forecasting import begin, give, queue, submit, tenant
from tests.integration.orchestrator.world import World, world
from tests.screens.camera import beside
from tests.support.builders import Builder

SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
SETTING: dict[str, list[Builder]] = {
    "east": [queue(8), tenant("render", 2), tenant("encode", 2), tenant("nightly", 4, priority=300)],
    "north": [queue(8), tenant("tests", 4), tenant("docs", 2, priority=200)],
    "west": [queue(8), tenant("payroll", 6, priority=500)],
}
SLOW = "north"
"""Its Kueue stops before the jobs come, so that the picture shows a gate that is open."""
_FONTS = re.compile(r"\s*@font-face \{.*?\}\n", re.DOTALL)


async def watching(directory: Path) -> dict[str, str]:
    """Play it: one job runs, one has its gate open, one asks for its own; return the pictures by file name."""
    async with playing(directory) as made, beside(made, directory) as camera:
        source = TopSource(lambda: daemon_of(DaemonOptions(socket=Path(camera.hidden[1]))), None)
        return {f"top-{name}.svg": await picture(source, size) for name, size in SIZES.items()}


@asynccontextmanager
async def playing(directory: Path) -> AsyncIterator[World]:
    """Let jobs wait in different states. Time passes only where nothing is under way."""
    kinds = {name: CURRENT.kinds() for name in SETTING}
    gates = {"policy": "LeastDisruption", "non_preempting_grace": "30s"}
    async with (
        world(directory, *SETTING, kinds=kinds, forecast={"enabled": True}, gates=gates) as made,
        AsyncExitStack() as stack,
    ):
        for name, builders in SETTING.items():
            give(made[name], *builders)
            if name != SLOW:
                await stack.enter_async_context(LocalKueue(made[name].store, CURRENT).running())
        async with LocalKueue(made[SLOW].store, CURRENT).running():
            await begin(made)
            await made.until(lambda: made[SLOW].condition("Admitted", "docs"))
            await made.settled()
        await _submitted(made)
        yield made


async def _submitted(made: World) -> None:
    await made.until(lambda: made["east"].condition("Admitted", "nightly"))
    await made.until(lambda: made["west"].condition("Admitted", "payroll"))
    await made.pass_time(90)
    submit(made, "report", cpu=2, priority=10)
    await made.until(lambda: made.check("report")["state"] == "Ready")
    await made.settled()
    await made.pass_time(20)
    submit(made, "training", cpu=4, priority=100)
    await made.until(lambda: made[SLOW].has_workload("training"))
    made[SLOW].block("training")
    await made.settled()
    await made.pass_time(30)
    await made.until(lambda: made[SLOW].gate("training") == "Open")
    await made.settled()
    await made.pass_time(8)
    submit(made, "evaluation", cpu=4, priority=60)
    await made.until(lambda: made["east"].has_workload("evaluation"))
    await made.settled()
    await made.pass_time(4)


async def picture(
    source: TopSource, size: tuple[int, int], keys: Callable[[Pilot[None]], Awaitable[None]] | None = None
) -> str:
    """Return the screen as SVG; the view's own clock stands still, so that nothing in it depends on the machine."""
    app = TopApp(source, await asyncio.to_thread(source.fleet, FleetQuestion()), 3600.0, lambda: 0.0)
    async with app.run_test(size=size, tooltips=True, notifications=True) as pilot:
        await pilot.pause()
        if keys is not None:
            await keys(pilot)
        return _FONTS.sub("\n", app.export_screenshot(title="turnstile top"))
