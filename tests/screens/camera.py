"""Takes screens: runs commands beside a daemon of a test and keeps what a user would see."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.world import World

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Camera:
    """Runs `turnstile` in a process of its own, with a home of its own."""

    home: Path
    hidden: tuple[str, ...] = ()
    """Options that the command gets and the screen does not show, such as the socket of a test."""
    screens: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """Of the environment, besides those that every command gets."""

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command; standard output and standard error come in the order in which a terminal shows them."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **self.variables}
        command = [sys.executable, "-P", "-m", "manager", *arguments, *self.hidden]
        return await asyncio.to_thread(
            subprocess.run,
            command,
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )

    async def take(self, name: str, *arguments: str, edit: Callable[[str], str] = str) -> None:
        """Keep a screen; `edit` replaces what differs between two machines, such as ports."""
        done = await self.run(*arguments)
        self.screens[name] = f"$ turnstile {' '.join(arguments)}\n{edit(done.stdout)}"


@asynccontextmanager
async def beside(made: World, directory: Path) -> AsyncIterator[Camera]:
    """Let the daemon answer on a socket, and give a camera that asks it there."""
    assert made.daemon is not None
    socket = directory / "api.sock"
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(socket, made.daemon.inspector))
        await made.until(socket.is_socket)
        yield Camera(directory, ("--socket", str(socket)))
        serving.cancel()
