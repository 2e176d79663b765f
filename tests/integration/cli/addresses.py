"""A daemon that answers over TLS to those that have its token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from config.sections.http import Http
from config.types.choices import HttpAuthorization
from localcluster.serving.tls import issue_certificates
from manager.base.clock import SystemClock
from manager.serving.endpoints import Endpoints
from manager.serving.routes import api_routes
from tests.integration.orchestrator.world import World
from tests.support.clusters import no_jitter
from workerclient.cluster import ClientContext

TOKEN = "token-of-a-throw-away-daemon"


@asynccontextmanager
async def on_an_address(made: World, directory: Path) -> AsyncIterator[str]:
    """Let the daemon answer as its service does; the authority's certificate is `ca.pem`."""
    assert made.daemon is not None
    certificates = issue_certificates("daemon")
    files = {"ca.pem": certificates.authority, "tls.crt": certificates.server, "tls.key": certificates.server_key}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    settings = Http(
        port=0,
        certificate_file=directory / "tls.crt",
        key_file=directory / "tls.key",
        authorization=HttpAuthorization.TOKEN_FILE,
        token_file=directory / "token",
    )
    async with Endpoints(settings, None, ClientContext(SystemClock(), no_jitter)).open(settings) as board:
        await board.show((), lambda: "", api_routes(made.daemon.inspector))
        yield f"https://{board.addresses[0]}"
