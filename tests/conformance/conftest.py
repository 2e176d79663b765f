"""One suite, every server: each test that asks for `server` or for `api` runs once against each of them.

All tests share one event loop, so that servers and connections live until the last of them is over.
"""

import secrets
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.conformance.builders import namespace as a_namespace
from tests.conformance.client import Api
from tests.conformance.resources import NAMESPACES
from tests.conformance.samples import BUILT_IN, CUSTOM, Sample
from tests.conformance.servers import (
    Server,
    is_continuous_integration,
    run_local,
    run_real,
)
from tests.realbed.build import ToolchainError
from tests.support.real_or_local import arrange

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    arrange(config, items, _HERE, _runs_on_real)


def _runs_on_real(item: pytest.Function) -> bool:
    return hasattr(item, "callspec") and item.callspec.params.get("server") == "real"


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def local_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    async with run_local(tmp_path_factory.mktemp("local")) as server:
        yield server


@pytest.fixture(scope="package")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    try:
        with run_real(tmp_path_factory.mktemp("real")) as server:
            yield server
    except ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real kube-apiserver: {error}")


@pytest.fixture(scope="package", params=["local", "real"])
def server(request: pytest.FixtureRequest) -> Server:
    # Each server is a fixture of its own, so that a change of parameter does not restart it.
    handle: Server = request.getfixturevalue(f"{request.param}_server")
    return handle


@pytest.fixture(scope="package")
def tls(server: Server) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(server.ca_file))


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def session(tls: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    # Loopback: a proxy from the environment must not come between.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), trust_env=False) as session:
        yield session


@pytest.fixture
def api(server: Server, session: aiohttp.ClientSession) -> Api:
    return Api(session, server.url, server.token)


@pytest.fixture
def powerless_api(server: Server, session: aiohttp.ClientSession) -> Api:
    return Api(session, server.url, server.powerless_token)


@pytest.fixture
def unique() -> str:
    """Return a name that no other test uses."""
    return f"t-{secrets.token_hex(6)}"


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(api: Api, unique: str) -> str:
    """Return the name of an empty namespace of this test's own."""
    (await api.post(NAMESPACES.at(), a_namespace(unique))).expect(201)
    return unique


@pytest.fixture(params=[pytest.param(BUILT_IN, id="built-in"), pytest.param(CUSTOM, id="custom")])
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return a built-in kind, then a custom one."""
    kind: Sample = request.param
    return kind
