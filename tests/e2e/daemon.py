"""`turnstile run` as a process, as a user starts it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.names import CONFIG_API_VERSION, CONFIG_KIND

_STOP_SECONDS = 30.0


class Turnstile:
    """One daemon with its configuration file; it can be stopped, killed, frozen and started again."""

    command = "run"

    def __init__(
        self, directory: Path, hub_kubeconfig: str, sections: Mapping[str, Any], options: Sequence[str] = ()
    ) -> None:
        self._options = options
        self._file = directory / "turnstile.yaml"
        self.log_file = directory / "turnstile.log"
        kubeconfig = directory / "hub.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(hub_kubeconfig)
        document: dict[str, Any] = {
            "apiVersion": CONFIG_API_VERSION,
            "kind": CONFIG_KIND,
            "jobs": {"integrations": ["batch/job"]},
            "http": {"port": 0},
            "journal": {"path": None},
            "gcInterval": "5s",
            **sections,
        }
        document["hub"] = {"kubeconfig": str(kubeconfig), **document.get("hub", {})}
        self._file.write_text(json.dumps(document))
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Return the number of its process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it; what it is connected to shows on the hub's objects."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTILE_", "KUBERNETES_"))}
        command = [sys.executable, "-P", "-m", "manager", self.command, *self._options, "--config", str(self._file)]
        with self.log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )

    async def ended(self) -> int:
        """Wait until it ends by itself and return its exit code."""
        assert self._process is not None
        async with asyncio.timeout(_STOP_SECONDS):
            return await self._process.wait()

    async def kill(self) -> None:
        """End it without warning."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ask it to end; it must do so in time and without an error, unless it is dead already."""
        if self._process is None:
            return
        process = self._process
        code = await self._end(signal.SIGTERM)
        assert code in (0, -signal.SIGKILL, 1), f"exit code {code}:\n{self.log()}"
        assert "Traceback" not in self.log(), self.log()
        assert process.returncode is not None

    def log(self) -> str:
        """Return everything that it said."""
        return self.log_file.read_text() if self.log_file.exists() else ""

    async def _end(self, number: signal.Signals) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.returncode is None:
            process.send_signal(number)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                return await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise


class CostController(Turnstile):
    """`turnstile cost-controller` likewise."""

    command = "cost-controller"
