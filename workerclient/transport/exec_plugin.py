"""Tokens from a command that the kubeconfig names, for kubeconfigs whose policy allows that.

The command gets no terminal, and its standard error is thrown away: plugins print credentials there when asked to be
verbose. Invariant: the process is gone when `fetch` is over, however that ended.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from config.kubeconfig.access import ClusterAccess, ExecPlugin
from config.kubeconfig.credentials import CredentialError, exec_info, parse_exec_credential
from workerclient.base.clock import Clock
from workerclient.transport.credentials import Token

_TIMEOUT_SECONDS: Final = 30.0
_MAX_OUTPUT: Final = 1 << 20


class ExecTokens:
    """Runs one cluster's exec plugin."""

    remedy = "run the command by hand, as the user and in the place where Turnstile runs"

    def __init__(self, plugin: ExecPlugin, access: ClusterAccess, clock: Clock, environment: Mapping[str, str]) -> None:
        self._plugin = plugin
        self._clock = clock
        self._environment = {**environment, **dict(plugin.env), "KUBERNETES_EXEC_INFO": exec_info(access, plugin)}

    async def fetch(self, now: datetime) -> Token:
        """Run the command and return the token that it prints."""
        try:
            async with self._clock.timeout(_TIMEOUT_SECONDS):
                output = await self._run()
        except TimeoutError as error:
            raise self._problem(f"did not end within {_TIMEOUT_SECONDS:g} s") from error
        credential = parse_exec_credential(output, self._plugin)
        if credential.token is None or credential.client_certificate is not None:
            raise self._problem("returned a client certificate; only tokens are supported")
        if credential.is_expired(now):
            raise self._problem("returned a token that has expired already")
        return Token(credential.token, credential.renew_at(now))

    async def _run(self) -> bytes:
        process = await self._start()
        try:
            output = await _read(process)
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if len(output) > _MAX_OUTPUT:
            raise self._problem(f"printed more than {_MAX_OUTPUT} bytes")
        if code != 0:
            raise self._problem(f"ended with exit code {code}")
        return output

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=self._environment,
            )
        except OSError as error:
            hint = f"; {self._plugin.install_hint}" if self._plugin.install_hint else ""
            raise self._problem(f"cannot be started: {error.strerror}{hint}") from error

    def _problem(self, what: str) -> CredentialError:
        return CredentialError(f'the exec plugin "{self._plugin.command}" {what}')


async def _read(process: asyncio.subprocess.Process) -> bytes:
    """Return what the process prints; of too much only the part that shows that it is too much."""
    parts = bytearray()
    if process.stdout is not None:
        while len(parts) <= _MAX_OUTPUT and (more := await process.stdout.read(_MAX_OUTPUT)):
            parts += more
    if len(parts) > _MAX_OUTPUT:
        process.kill()
    return bytes(parts)
