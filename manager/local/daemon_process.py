"""The daemon of a local fleet: `turnstile run` as a process of its own, with a configuration for trying things."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from config.names import CONFIG_API_VERSION, CONFIG_KIND
from manager.local.control import refuse_long_path

PREEMPTION_TIMEOUT: Final = "30s"
LOST_TIMEOUT: Final = "20s"
_STOP_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class DaemonFiles:
    """Where the daemon of a fleet keeps its files."""

    directory: Path

    @property
    def configuration(self) -> Path:
        """Return its configuration file."""
        return self.directory / "turnstile.yaml"

    @property
    def log(self) -> Path:
        """Return the file with what it writes."""
        return self.directory / "daemon.log"

    @property
    def socket(self) -> Path:
        """Return where it answers commands."""
        return self.directory / "api.sock"

    @property
    def journal(self) -> Path:
        """Return its journal, which stays when the fleet ends."""
        return self.directory / "journal.db"

    def write(self, hub_kubeconfig: Path) -> None:
        """Write the configuration, and remove the journal of an earlier fleet, whose hub is no more."""
        refuse_long_path(self.socket)
        for path in self.directory.glob(f"{self.journal.name}*"):
            path.unlink()
        document = {
            "apiVersion": CONFIG_API_VERSION,
            "kind": CONFIG_KIND,
            "hub": {"kubeconfig": str(hub_kubeconfig)},
            "gates": {"singleClusterPreemptionTimeout": PREEMPTION_TIMEOUT, "policy": "LeastDisruption"},
            "workerLostTimeout": LOST_TIMEOUT,
            "jobs": {"integrations": ["batch/job"]},
            "api": {"socket": str(self.socket)},
            "journal": {"path": str(self.journal)},
            "http": {"port": 0},
            "logging": {"format": "console"},
        }
        self.configuration.write_text(yaml.safe_dump(document, sort_keys=False))


@asynccontextmanager
async def daemon_process(files: DaemonFiles) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the daemon during the enclosed block, in a session of its own: Ctrl-C is the business of its parent."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNSTILE_")}
    command = (sys.executable, "-P", "-m", "manager", "run", "--config", str(files.configuration))
    with files.log.open("w") as log:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        yield process
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
