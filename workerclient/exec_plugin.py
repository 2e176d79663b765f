"""Tokens from a command that the kubeconfig names, for kubeconfigs whose policy allows that.

Speaks `client.authentication.k8s.io` v1 and v1beta1. The command gets no terminal; its standard error is thrown away,
because plugins print credentials there when asked to be verbose.
"""

import asyncio
import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson

from config.access import ClusterAccess, ExecPlugin
from workerclient.clock import Clock
from workerclient.credentials import Token, TokenProblemError, renewal_after

_API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_TIMEOUT_SECONDS: Final = 30.0
_MAX_OUTPUT: Final = 1 << 20
_NANOSECONDS: Final = 1e9


class ExecTokens:
    """Runs one cluster's exec plugin."""

    def __init__(self, plugin: ExecPlugin, access: ClusterAccess, clock: Clock, environment: Mapping[str, str]) -> None:
        self._plugin = plugin
        self._clock = clock
        self._environment = {
            **environment,
            **dict(plugin.env),
            "KUBERNETES_EXEC_INFO": orjson.dumps(_exec_info(plugin, access)).decode(),
        }

    async def fetch(self) -> Token:
        """Run the command and return the token that it prints."""
        try:
            async with self._clock.timeout(_TIMEOUT_SECONDS):
                output = await self._run()
        except TimeoutError as error:
            raise self._problem(f"did not end within {_TIMEOUT_SECONDS:g} s") from error
        return self._token(output)

    async def _run(self) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
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
        if process.stdout is None:
            raise self._problem("has no standard output")
        try:
            output = await process.stdout.read(_MAX_OUTPUT + 1)
            while len(output) <= _MAX_OUTPUT and (more := await process.stdout.read(_MAX_OUTPUT)):
                output += more
            code = await process.wait() if len(output) <= _MAX_OUTPUT else None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if code is None:
            raise self._problem(f"printed more than {_MAX_OUTPUT} bytes")
        if code != 0:
            raise self._problem(f"ended with exit code {code}")
        return output

    def _token(self, output: bytes) -> Token:
        try:
            document = orjson.loads(output)
        except orjson.JSONDecodeError:
            raise self._problem("did not print JSON") from None  # the cause would quote the output
        if not isinstance(document, dict) or document.get("kind") != "ExecCredential":
            raise self._problem("did not print an ExecCredential")
        if document.get("apiVersion") not in _API_VERSIONS:
            raise self._problem(f"must print an ExecCredential of {' or '.join(_API_VERSIONS)}")
        status = document.get("status")
        if not isinstance(status, dict) or not isinstance(status.get("token"), str):
            raise self._problem("printed no status.token (client certificates from plugins are not supported)")
        return Token(status["token"], self._use_seconds(status.get("expirationTimestamp")))

    def _use_seconds(self, expires: object) -> float | None:
        if expires is None:
            return None
        try:
            ends = datetime.fromisoformat(str(expires))
        except ValueError as error:
            raise self._problem("printed a status.expirationTimestamp that is no time") from error
        if ends.tzinfo is None:
            raise self._problem("printed a status.expirationTimestamp without a time zone")
        lifetime = ends.timestamp() - self._clock.now_ns() / _NANOSECONDS
        if lifetime <= 0:
            raise self._problem("printed a token that has expired already")
        return renewal_after(lifetime)

    def _problem(self, what: str) -> TokenProblemError:
        return TokenProblemError(
            f'the exec plugin "{self._plugin.command}" {what}', "run the plugin by hand as Turnstile's user"
        )


def _exec_info(plugin: ExecPlugin, access: ClusterAccess) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": access.server}
        if access.tls_server_name:
            cluster["tls-server-name"] = access.tls_server_name
        if isinstance(access.ca, bytes):
            cluster["certificate-authority-data"] = base64.b64encode(access.ca).decode()
        if access.proxy_url:
            cluster["proxy-url"] = access.proxy_url
        if plugin.cluster_config is not None:
            cluster["config"] = plugin.cluster_config
        spec["cluster"] = cluster
    return {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
