"""`turnstile top` as a process on a terminal, beside a daemon on a hub and workers."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from manager.serving.socket_server import serve_api
from tests.integration.cli.addresses import TOKEN, on_an_address
from tests.integration.orchestrator.forecasting import forecasting, queue, tenant
from tests.integration.orchestrator.world import World, running
from tests.screens.camera import ROOT
from tests.support.builders import Builder

SETTING: dict[str, list[Builder]] = {"east": [queue(8), tenant("render", 6)]}
_PATIENCE_SECONDS = 60.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b[=>]")
_LEAVES_ALTERNATE_SCREEN = "\x1b[?1049l"


@dataclass
class Terminal:
    """A pseudo-terminal with a command in it."""

    process: asyncio.subprocess.Process
    master: int
    written: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        try:
            self.written += os.read(self.master, 1 << 16).decode(errors="replace")
        except OSError:  # the other end is closed
            asyncio.get_running_loop().remove_reader(self.master)
        self.changed.set()

    @property
    def text(self) -> str:
        """Return everything that was ever written, without what moves the cursor."""
        return _ESCAPES.sub(" ", self.written)

    async def shows(self, *texts: str) -> None:
        """Wait until all of these were shown since the last wait; then forget them."""
        await self.until(lambda: all(text in self.text for text in texts))
        self.written = ""

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    async def ended(self) -> int:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            return await self.process.wait()


@asynccontextmanager
async def terminal(
    directory: Path, *arguments: str, size: tuple[int, int] = (80, 24), variables: dict[str, str] | None = None
) -> AsyncIterator[Terminal]:
    """Run a command on a terminal of its own until the block is over."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environment = {
        "HOME": str(directory),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "manager", *arguments),
        cwd=ROOT,
        env={**environment, "LC_ALL": "C.UTF-8", **(variables or {})},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    shown = Terminal(process, master)
    asyncio.get_running_loop().add_reader(master, shown.read)
    try:
        yield shown
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


@asynccontextmanager
async def top_beside(made: World, directory: Path, *arguments: str, **variables: str) -> AsyncIterator[Terminal]:
    """Run the command beside the daemon."""
    socket = directory / "api.sock"
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(socket, made.running_daemon().inspector))
        await made.until(socket.is_socket)
        async with terminal(directory, "top", "--socket", str(socket), *arguments, variables=variables) as shown:
            yield shown
        serving.cancel()


async def test_a_fleet_is_followed_opened_and_left(tmp_path: Path) -> None:
    async with forecasting(tmp_path, SETTING) as made:
        await made.until(lambda: made["east"].condition("Admitted", "render"))
        made.queue("first")
        await made.settled()
        async with top_beside(made, tmp_path) as shown:
            await shown.shows("hub-under-test", "east", "6/8", "team/first", "<q> quit")
            made.queue("second")
            await shown.shows("second")
            shown.type("\r")
            await shown.shows("Workload team/first", "LocalQueue")
            shown.type("\x1b")
            await shown.shows("Workers")
            shown.type("q")
            await shown.until(lambda: _LEAVES_ALTERNATE_SCREEN in shown.written)
            assert await shown.ended() == 0


async def test_a_name_that_holds_an_escape_is_shown_as_one(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("first")
        await made.until(lambda: made["w1"].has_workload("first"))
        made.hub.set_status("first", lambda status: status["admissionChecks"][0].update(message="\x1b]0;owned\x07"))
        await made.settled()
        async with top_beside(made, tmp_path) as shown:
            await shown.shows("team/first")
            assert "\x1b]0;owned" not in shown.written


def colours(written: str) -> set[str]:
    """Return the colours of texts that are no shades of grey."""
    return {found for found in re.findall(r"38;2;(\d+;\d+;\d+)", written) if len(set(found.split(";"))) > 1}


async def test_colours_are_left_out_where_they_are_not_wanted(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        async with top_beside(made, tmp_path, COLORTERM="truecolor") as shown:
            await shown.until(lambda: "<q> quit" in shown.text)
            assert colours(shown.written)
            shown.type("\x03")
            assert await shown.ended() == 130
        async with top_beside(made, tmp_path, COLORTERM="truecolor", NO_COLOR="1") as shown:
            await shown.until(lambda: "<q> quit" in shown.text)
            assert colours(shown.written) == set()


async def test_a_daemon_that_ends_leaves_its_last_answer_on_the_screen(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("first")
        await made.settled()
        socket = tmp_path / "api.sock"
        serving = asyncio.create_task(serve_api(socket, made.running_daemon().inspector))
        await made.until(socket.is_socket)
        async with terminal(tmp_path, "top", "--socket", str(socket), size=(120, 40)) as shown:
            await shown.shows("team/first")
            serving.cancel()
            await asyncio.wait([serving])
            await shown.shows("STALE", "no daemon answers on")
            again = asyncio.create_task(serve_api(socket, made.running_daemon().inspector))
            await shown.shows("0s old")
            shown.type("q")
            assert await shown.ended() == 0
            again.cancel()
            await asyncio.wait([again])


async def test_a_daemon_elsewhere_is_followed_over_tls(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    async with running(tmp_path, "w1") as made, on_an_address(made, tmp_path) as address:
        made.queue("first")
        await made.settled()
        trusting = ("--server", address, "--certificate-authority", str(tmp_path / "ca.pem"))
        async with terminal(tmp_path, "top", *trusting, "--token-file", str(tmp_path / "token")) as shown:
            await shown.shows("team/first")
            made.queue("second")
            await shown.shows("second")
        async with terminal(tmp_path, "top", *trusting) as shown:
            assert await shown.ended() == 3
            await shown.shows("refuses (a valid bearer token is required)")


async def test_without_a_daemon_or_a_cursor_it_ends_with_one_line(tmp_path: Path) -> None:
    async with terminal(tmp_path, "top", "--socket", str(tmp_path / "none")) as shown:
        assert await shown.ended() == 3
        await shown.shows("no daemon answers on", "`turnstile status` reads the hub itself")
    async with terminal(tmp_path, "top", variables={"TERM": "dumb"}) as shown:
        assert await shown.ended() == 2
        await shown.shows("error: turnstile top needs a terminal that can move the cursor")
