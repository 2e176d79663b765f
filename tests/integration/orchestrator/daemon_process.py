"""`turnstile run` as a process."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

_PATIENCE_SECONDS = 120.0


CONFIGURATION: dict[str, Any] = {
    "apiVersion": "config.multikueue-turnstile.dev/v1alpha1",
    "kind": "Configuration",
    "http": {"port": 0},
}


async def start(
    directory: Path, name: str = "turnstile", environment: dict[str, str] | None = None, **sections: Any
) -> asyncio.subprocess.Process:
    file = directory / f"{name}.yaml"
    file.write_text(json.dumps({**CONFIGURATION, **sections}))
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TURNSTILE_", "KUBERNETES_"))}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "manager",
        "run",
        "--config",
        str(file),
        stderr=asyncio.subprocess.PIPE,
        env={**inherited, **(environment or {})},
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        _, errors = await process.communicate()
    return process.returncode or 0, errors.decode()


async def logged(process: asyncio.subprocess.Process, event: str, **fields: str) -> list[dict[str, Any]]:
    """Read log lines until one names the event, with these fields."""
    wanted = {"event": event, **fields}
    assert process.stderr is not None
    lines: list[dict[str, Any]] = []
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not any(wanted.items() <= line.items() for line in lines):
            text = (await process.stderr.readline()).decode()
            assert text, lines
            lines.append(json.loads(text))
    return lines
