"""Runs `turnstile worker` as the administrator of the hub."""

import asyncio

from typer.testing import CliRunner, Result

from manager.cli.app import app
from tests.integration.orchestrator.world import World


async def worker(made: World, *arguments: str) -> Result:
    """Run a command on the hub."""
    kubeconfig = str(made.hub.local.kubeconfig_path)
    arguments = ("worker", *arguments, "--hub-kubeconfig", kubeconfig)
    return await asyncio.to_thread(CliRunner(env={"HOME": "/none", "KUBECONFIG": ""}).invoke, app, arguments)
