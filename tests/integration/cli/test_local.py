"""`turnstile local` as a process: one per directory, cut off and restored from outside, and a clean end."""

import asyncio
import json
import signal
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

COMMAND = (sys.executable, "-P", "-m", "manager", "local")
PATIENCE_SECONDS = 120
WATCHES = 6


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a directory whose name is short enough for sockets in it."""
    with tempfile.TemporaryDirectory(prefix="local-") as name:
        yield Path(name)


@asynccontextmanager
async def serving(place: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the command and wait until it serves; what it says on standard error is for the test to read."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, "--directory", str(place), *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for line in process.stdout:
                if line == b"serving until Ctrl-C\n":
                    break
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run, [*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )


def names_in(place: Path) -> list[str]:
    return [path.name for path in place.iterdir()]


class Reader:
    """Reads a cluster through its kubeconfig."""

    def __init__(self, place: Path, cluster: str) -> None:
        kubeconfig = yaml.safe_load((place / cluster / "kubeconfig").read_text())
        self.url: str = kubeconfig["clusters"][0]["cluster"]["server"]
        self._headers = {"Authorization": f"Bearer {kubeconfig['users'][0]['user']['token']}"}
        tls = ssl.create_default_context(cafile=str(place / cluster / "ca.crt"))
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls, limit=0), headers=self._headers, trust_env=False
        )

    async def status(self) -> int:
        async with self.session.get(f"{self.url}/api/v1/namespaces") as answer:
            return answer.status


async def test_a_directory_has_one_process(place: Path) -> None:
    async with serving(place, "--clusters", "hub") as first:
        reader = Reader(place, "hub")
        async with reader.session:
            second = await run("--directory", str(place), "--clusters", "hub")
            assert second.returncode == 2
            assert second.stderr.splitlines() == [
                f"error: another `turnstile local` serves from {place}; stop it, or choose another place with "
                "--directory"
            ]
            assert await reader.status() == 200
        first.send_signal(signal.SIGTERM)
        assert await first.wait() == 0
    assert names_in(place) == ["lock"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_it_ends_without_a_word_while_clients_watch(place: Path, number: signal.Signals) -> None:
    async with serving(place, "--clusters", "hub") as process:
        reader = Reader(place, "hub")
        async with reader.session:
            path = f"{reader.url}/api/v1/namespaces?watch=true"
            watches = [await reader.session.get(path) for _ in range(WATCHES)]
            assert [json.loads(await each.content.readline())["type"] for each in watches] == ["ADDED"] * WATCHES
            process.send_signal(number)
            assert await process.wait() == 0
            assert process.stderr is not None
            assert await process.stderr.read() == b""
            for each in watches:
                each.close()


@pytest.mark.parametrize("options", [(), ("--silent",)], ids=["refusing", "silent"])
async def test_a_cluster_is_cut_off_and_restored(place: Path, options: tuple[str, ...]) -> None:
    async with serving(place, "--clusters", "hub,worker-1"):
        reader = Reader(place, "worker-1")
        async with reader.session:
            assert await reader.status() == 200
            done = await run("cut", "worker-1", "--directory", str(place), *options)
            assert (done.returncode, done.stderr) == (0, "")
            with pytest.raises((aiohttp.ClientConnectionError, TimeoutError)):
                async with asyncio.timeout(2):
                    await reader.status()
            done = await run("restore", "worker-1", "--directory", str(place))
            assert (done.returncode, done.stdout) == (0, "worker-1 answers again\n")
            assert await reader.status() == 200


async def test_a_cluster_that_does_not_exist_is_named(place: Path) -> None:
    async with serving(place, "--clusters", "hub,worker-1"):
        done = await run("cut", "worker-9", "--directory", str(place))
    assert done.returncode == 2
    assert done.stderr == 'error: there is no cluster "worker-9" here; there are hub, worker-1\n'


async def test_a_directory_without_a_process_is_named(place: Path) -> None:
    done = await run("restore", "hub", "--directory", str(place))
    assert done.returncode == 3
    assert done.stderr == (
        f"error: no `turnstile local` answers in {place}; start it, or name its directory with --directory\n"
    )
