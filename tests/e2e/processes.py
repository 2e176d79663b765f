"""Runs `turnstile` commands as processes of their own."""

import asyncio
import json
import sys

from tests.conformance.client import Obj


async def command(*arguments: str) -> tuple[int, Obj]:
    """Run a command; return its exit code and its document."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "manager", *arguments, "-o", "json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert output, errors.decode()
    assert process.returncode is not None
    return process.returncode, json.loads(output)
