"""Running kubectl against a server: its own configuration and cache, nothing of the user's."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DEADLINE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the credentials of one server, in one namespace."""

    program: str
    kubeconfig: Path
    home: Path
    namespace: str

    async def __call__(self, *arguments: str, given: object = None) -> str:
        """Run to success and return what was printed; `given` goes to standard input as JSON."""
        result = await self.attempt(*arguments, given=given)
        assert result.code == 0, f"kubectl {' '.join(arguments)}: {result.err}"
        return result.out

    async def fail(self, *arguments: str, given: object = None) -> str:
        """Run to failure and return the error text."""
        result = await self.attempt(*arguments, given=given)
        assert result.code != 0, f"kubectl {' '.join(arguments)} succeeded: {result.out}"
        return result.err

    async def attempt(self, *arguments: str, given: object = None) -> Result:
        """Run and return the outcome, whatever it is."""
        async with self.running(*arguments) as process, asyncio.timeout(_DEADLINE_SECONDS):
            out, err = await process.communicate(None if given is None else json.dumps(given).encode())
        assert process.returncode is not None
        return Result(process.returncode, out.decode(), err.decode())

    async def json(self, *arguments: str) -> Any:
        """Run with `-o json` and return the decoded document."""
        return json.loads(await self(*arguments, "-o", "json"))

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Start a run and end it with the block, if it has not ended by then."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self.program,
            f"--namespace={self.namespace}",
            *arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={
                "PATH": os.environ.get("PATH", ""),
                "HOME": str(self.home),
                "KUBECONFIG": str(self.kubeconfig),
                "KUBECACHEDIR": str(self.home / "cache"),
            },
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
