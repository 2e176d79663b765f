"""Tokens are renewed before they end, once for all who wait, and never shown."""

import asyncio
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from config.kubeconfig.access import ClusterAccess, ExecPlugin
from config.kubeconfig.credentials import CredentialError
from tests.support.virtual_time import VirtualClock, let_run, until
from workerclient.base.errors import Operation, Unauthenticated
from workerclient.transport.credentials import FetchedCredentials, FixedCredentials, Token, TokenFile
from workerclient.transport.exec_plugin import ExecTokens

OPERATION = Operation("w1", "get", "workloads")
ACCESS = ClusterAccess("https://w1:6443", ca=b"PEM")
API_VERSION = "client.authentication.k8s.io/v1"


class Issuer:
    """Issues numbered tokens that live for a minute."""

    remedy = "ask the issuer"

    def __init__(self) -> None:
        self.issued = 0
        self.problem: CredentialError | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, now: datetime) -> Token:
        await self.gate.wait()
        self.issued += 1
        if self.problem:
            raise self.problem
        return Token(f"t{self.issued}", now + timedelta(seconds=60))


async def test_a_token_is_fetched_once_and_again_when_it_is_due() -> None:
    clock, issuer = VirtualClock(), Issuer()
    credentials = FetchedCredentials(issuer, clock)
    assert [await credentials.authorization(OPERATION) for _ in range(3)] == ["Bearer t1"] * 3
    await clock.advance(59.9)
    assert await credentials.authorization(OPERATION) == "Bearer t1"
    await clock.advance(0.2)
    assert await credentials.authorization(OPERATION) == "Bearer t2"


async def test_all_who_wait_share_one_renewal() -> None:
    issuer = Issuer()
    credentials = FetchedCredentials(issuer, VirtualClock())
    issuer.gate.clear()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(credentials.authorization(OPERATION)) for _ in range(20)]
        await let_run()
        issuer.gate.set()
    assert {task.result() for task in tasks} == {"Bearer t1"}
    assert issuer.issued == 1


async def test_a_rejected_token_is_replaced_once_however_many_saw_it_rejected() -> None:
    issuer = Issuer()
    credentials = FetchedCredentials(issuer, VirtualClock())
    first = await credentials.authorization(OPERATION)
    assert credentials.reject(first)
    second = await credentials.authorization(OPERATION)
    assert credentials.reject(first)
    assert await credentials.authorization(OPERATION) == second == "Bearer t2"


async def test_a_failing_source_is_not_asked_for_every_request() -> None:
    clock, issuer = VirtualClock(), Issuer()
    issuer.problem = CredentialError("the issuer is ill")
    credentials = FetchedCredentials(issuer, clock)
    for _ in range(5):
        with pytest.raises(Unauthenticated, match=r"the issuer is ill \(ask the issuer\)"):
            await credentials.authorization(OPERATION)
    assert issuer.issued == 1
    issuer.problem = None
    await clock.advance(10)
    assert await credentials.authorization(OPERATION) == "Bearer t2"


async def test_a_fixed_token_has_no_successor() -> None:
    credentials = FixedCredentials("t")
    assert await credentials.authorization(OPERATION) == "Bearer t"
    assert not credentials.reject("Bearer t")
    assert await FixedCredentials(None).authorization(OPERATION) is None


async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    clock = VirtualClock()
    file = tmp_path / "token"
    file.write_text("first\n")
    credentials = FetchedCredentials(TokenFile(file), clock)
    assert await credentials.authorization(OPERATION) == "Bearer first"
    file.write_text("second\n")
    await clock.advance(59)
    assert await credentials.authorization(OPERATION) == "Bearer first"
    await clock.advance(1)
    assert await credentials.authorization(OPERATION) == "Bearer second"


async def test_a_token_file_that_is_gone_is_named_as_the_cause(tmp_path: Path) -> None:
    credentials = FetchedCredentials(TokenFile(tmp_path / "none"), VirtualClock())
    with pytest.raises(Unauthenticated, match="the token file cannot be read: it does not exist"):
        await credentials.authorization(OPERATION)


def plugin(script: str, **values: object) -> ExecPlugin:
    return ExecPlugin(sys.executable, API_VERSION, ("-c", script), **values)  # type: ignore[arg-type]


def tokens(script: str, clock: VirtualClock, **values: object) -> ExecTokens:
    return ExecTokens(plugin(script, **values), ACCESS, clock, {"INHERITED": "yes"})


def printing(**status: str) -> str:
    document = {"apiVersion": API_VERSION, "kind": "ExecCredential", "status": status}
    return f"print({orjson.dumps(document).decode()!r})"


def now_of(clock: VirtualClock) -> datetime:
    return datetime.fromtimestamp(clock.now_ns() / 1e9, UTC)


async def test_a_plugin_prints_a_token_with_its_end() -> None:
    clock = VirtualClock()
    now = now_of(clock)
    script = printing(token="secret", expirationTimestamp=(now + timedelta(minutes=10)).isoformat())
    token = await tokens(script, clock).fetch(now)
    assert token.secret == "secret"
    assert token.renew_at == now + timedelta(minutes=8)
    assert "secret" not in repr(token)


async def test_a_plugin_gets_its_environment_and_the_cluster() -> None:
    clock = VirtualClock()
    script = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "token = '-'.join([os.environ['INHERITED'], os.environ['OWN'], info['spec']['cluster']['server'][8:10]]);"
        f"print(json.dumps({{'apiVersion': '{API_VERSION}', 'kind': 'ExecCredential', 'status': {{'token': token}}}}))"
    )
    token = await tokens(script, clock, env=(("OWN", "mine"),), provide_cluster_info=True).fetch(now_of(clock))
    assert token == Token("yes-mine-w1", None)


PROBLEMS = {
    "it fails": ("import sys; print('secret', file=sys.stderr); sys.exit(3)", "ended with exit code 3"),
    "it prints something else": ("print('secret')", "did not print JSON"),
    "it prints too much": ("print('secret' * 1_000_000)", "printed more than 1048576 bytes"),
    "its token is expired": (
        printing(token="secret", expirationTimestamp="2001-01-01T00:00:00Z"),
        "returned a token that has expired already",
    ),
    "it prints a certificate": (
        printing(clientCertificateData="secret", clientKeyData="secret"),
        "returned a client certificate; only tokens are supported",
    ),
}


@pytest.mark.parametrize(("script", "want"), PROBLEMS.values(), ids=PROBLEMS.keys())
async def test_what_a_plugin_can_do_wrong(script: str, want: str) -> None:
    clock = VirtualClock()
    credentials = FetchedCredentials(tokens(script, clock), clock)
    with pytest.raises(Unauthenticated, match=want) as caught:
        await credentials.authorization(OPERATION)
    assert "secret" not in str(caught.value)
    assert "run the command by hand" in str(caught.value)


async def test_a_plugin_that_does_not_exist_is_named_with_its_install_hint() -> None:
    clock = VirtualClock()
    missing = ExecPlugin("no-such-plugin", API_VERSION, install_hint="install it")
    with pytest.raises(
        CredentialError, match='"no-such-plugin" cannot be started: No such file or directory; install it'
    ):
        await ExecTokens(missing, ACCESS, clock, {}).fetch(now_of(clock))


async def test_a_plugin_that_hangs_is_killed_at_its_deadline(tmp_path: Path) -> None:
    clock = VirtualClock()
    started = tmp_path / "started"
    script = f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
    async with asyncio.TaskGroup() as group:
        hanging = group.create_task(_is_reported_as_hanging(tokens(script, clock), now_of(clock)))
        await until(lambda: started.exists() and started.read_text())
        await clock.advance(30)
        await hanging
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


async def _is_reported_as_hanging(source: ExecTokens, now: datetime) -> None:
    with pytest.raises(CredentialError, match="did not end within 30 s"):
        await source.fetch(now)


async def test_F1_an_invalid_token_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe", tmp_path / "large"
    os.mkfifo(pipe)
    large.write_bytes(b"x" * (1 << 20))
    for path, want in ((pipe, "is not a regular file"), (Path("/dev/zero"), "regular"), (large, "is larger than")):
        credentials = FetchedCredentials(TokenFile(path), VirtualClock())
        with pytest.raises(Unauthenticated, match=want):
            await credentials.authorization(OPERATION)


async def test_F1_a_source_that_never_answers_is_given_up() -> None:
    clock, issuer = VirtualClock(), Issuer()
    issuer.gate.clear()
    credentials = FetchedCredentials(issuer, clock)
    waiting = asyncio.create_task(credentials.authorization(OPERATION))
    await let_run()
    await clock.advance(41)
    with pytest.raises(Unauthenticated, match="no token was obtained within 40 s"):
        await waiting
