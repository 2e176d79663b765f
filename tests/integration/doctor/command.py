"""Runs `turnstile doctor` as a command."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path

from typer.testing import CliRunner, Result

from manager.cli.app import app
from tests.integration.orchestrator.planning import write_configuration
from tests.integration.orchestrator.world import World


async def doctor(made: World, directory: Path, *arguments: str) -> Result:
    """Run the command, which has the system's clock, on clusters that have it as well."""
    for cluster in (made.hub, *made.workers.values()):
        cluster.clock.skew = timedelta(seconds=time.time() - made.clock.now_ns() / 1e9)
    given = made.options.get("workers", [])
    workers = [{"name": each["name"], "kueueConfiguration": each["kueue_configuration"]} for each in given]
    file = write_configuration(made, directory / "turnstile.yaml", workers=workers)
    return await asyncio.to_thread(CliRunner().invoke, app, ["doctor", "--config", str(file), *arguments])
