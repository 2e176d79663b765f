"""`--server`: a daemon that answers over TLS to those that have the token."""

from pathlib import Path

from aiohttp import web

from tests.integration.cli.addresses import TOKEN, on_an_address
from tests.integration.orchestrator.world import running
from tests.screens.camera import Camera


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
