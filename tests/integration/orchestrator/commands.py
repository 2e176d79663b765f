"""Runs commands that ask a daemon under test."""

import asyncio
from pathlib import Path

from typer.testing import CliRunner, Result

from manager.cli.app import app
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.world import World


async def command(made: World, place: Path, *arguments: str) -> Result:
    """Run a command beside the daemon."""
    assert made.daemon is not None
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(place, made.daemon.inspector))
        await made.until(place.is_socket)
        result = await asyncio.to_thread(
            CliRunner(env={"HOME": "/none", "KUBECONFIG": ""}).invoke, app, [*arguments, "--socket", str(place)]
        )
        serving.cancel()
    return result
