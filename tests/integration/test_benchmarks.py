"""A benchmark whose daemon cannot run ends with the daemon's own words."""

import asyncio
import json
import socket
import subprocess
import sys

import pytest

from benchmarks.orchestrator_processes import DaemonEndedError, running_daemon, running_fleet


async def test_a_daemon_that_cannot_start_ends_the_benchmark() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with asyncio.timeout(120), running_fleet(1, 4) as fleet:
            with pytest.raises(DaemonEndedError, match=rf"\nerror: http\.port: 127\.0\.0\.1:{port} cannot be"):
                async with running_daemon(fleet, 1, http={"port": port}):
                    await fleet.order("connect")


def test_a_benchmark_without_a_quick_form_is_refused() -> None:
    command = [sys.executable, "-m", "benchmarks", "plan", "--quick"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == "error: no quick benchmark named plan; there are: orchestrator\n"


async def test_its_daemon_takes_a_free_port() -> None:
    async with asyncio.timeout(120), running_fleet(1, 4) as fleet, running_daemon(fleet, 1):
        written = json.loads((fleet.kubeconfig.parent / "turnstile.json").read_text())
        assert written["http"] == {"port": 0}
        await fleet.order("connect")
