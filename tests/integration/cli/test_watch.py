"""`--watch` as a process: changes come, and both ways to end it are clean."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.world import World, running
from tests.screens.camera import ROOT

_PATIENCE_SECONDS = 60.0
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may have it ignored
from manager.cli import main
main()
"""


@asynccontextmanager
async def watching(made: World, directory: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a command beside the daemon until the block is over."""
    assert made.daemon is not None
    socket = directory / "api.sock"
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(socket, made.daemon.inspector))
        await made.until(socket.is_socket)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-u", "-c", _PROGRAM, *arguments, "--watch", "--socket", str(socket)),
            cwd=directory,
            env={"HOME": str(directory), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            serving.cancel()


async def line_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().rstrip("\n")


async def test_changes_are_printed_until_ctrl_c(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("first")
        await made.settled()
        async with watching(made, tmp_path, "status", "workloads", "-o", "json") as process:
            seen = json.loads(await line_of(process))
            assert (seen["type"], seen["object"]["name"]) == ("ADDED", "first")
            made["w1"].admit("first")
            while seen["object"]["phase"] != "Admitted":
                seen = json.loads(await line_of(process))
                assert seen["type"] == "MODIFIED"
            made.queue("second")
            assert json.loads(await line_of(process))["object"]["name"] == "second"
            process.send_signal(signal.SIGINT)
            _, errors = await process.communicate()
        assert (process.returncode, errors) == (130, b"")


async def test_a_closed_pipe_ends_it(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("first")
        await made.settled()
        async with watching(made, tmp_path, "status", "workloads", "-A") as process:
            assert (await line_of(process)).split()[:2] == ["NAMESPACE", "NAME"]
            assert (await line_of(process)).split()[:2] == ["team", "first"]
            process.stdout._transport.close()  # type: ignore[union-attr]  # noqa: SLF001 - asyncio has no public way
            made["w1"].admit("first")
            assert process.stderr is not None
            errors = await process.stderr.read()
            await process.wait()
        assert (process.returncode, errors) == (141, b"")
