"""`--server`: a daemon that answers over TLS to those that have the token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from config.sections.http import Http
from config.types.choices import HttpAuthorization
from localcluster.serving.tls import issue_certificates
from manager.base.clock import SystemClock
from manager.serving.endpoints import Endpoints
from manager.serving.routes import api_routes
from tests.integration.orchestrator.world import World, running
from tests.screens.camera import Camera
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


async def test_a_daemon_elsewhere_is_asked_with_token_and_authority(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    async with running(tmp_path, "w1") as made, on_an_address(made, tmp_path) as address:
        trusting = ("--server", address, "--certificate-authority", str(tmp_path / "ca.pem"))
        camera = Camera(tmp_path, (*trusting, "--token-file", str(tmp_path / "token")))
        assert (await camera.run("status", "workers", "-o", "name")).stdout == ("multikueuecluster.kueue.x-k8s.io/w1\n")
        unknown = await camera.run("explain", "team/nobody")
        assert (unknown.returncode, unknown.stdout) == (2, "error: there is no Workload team/nobody on the hub\n")

        nameless = await Camera(tmp_path, trusting).run("status")
        assert (nameless.returncode, nameless.stdout) == (
            3,
            f"error: the daemon on {address} refuses (a valid bearer token is required); "
            "check the token in --token-file\n",
        )
        untrusting = await Camera(tmp_path, ("--server", address, "--token-file", str(tmp_path / "token"))).run(
            "status"
        )
        assert untrusting.returncode == 3
        assert untrusting.stdout.startswith(f"error: no daemon answers on {address} (")
        assert "certificate verify failed" in untrusting.stdout
        assert len(untrusting.stdout.splitlines()) == 1
        assert TOKEN not in nameless.stdout + untrusting.stdout


async def test_who_is_no_daemon_is_not_taken_for_one(tmp_path: Path) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text="<html>hello</html>")

    application = web.Application()
    application.router.add_get("/{anything:.*}", page)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = f"http://127.0.0.1:{runner.addresses[0][1]}"
        done = await Camera(tmp_path, ("--server", address)).run("status")
    finally:
        await runner.cleanup()
    assert done.returncode == 3
    assert done.stdout.startswith(
        f"error: what answers on {address} is not a turnstile daemon (status 200); is this the "
    )
    silent = await Camera(tmp_path, ("--server", address)).run("status")
    assert (silent.returncode, "Connection refused" in silent.stdout) == (3, True), "the hub is not asked instead"
