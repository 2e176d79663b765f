"""`turnstile ui`: the page in a browser, on loopback, with the rights of whoever started it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import ConfiguredDaemonOptions

if TYPE_CHECKING:
    from manager.page.loopback import LoopbackPage, PageTarget


@with_option_groups
def ui(
    *,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65_535, help="The port on 127.0.0.1; 0 takes any free one.")
    ] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and start no browser.")] = False,
    connection: ConfiguredDaemonOptions,
) -> None:
    """Show the fleet in a browser, until Ctrl-C. Serves the page on loopback and asks the daemon for it."""
    import asyncio

    target = target_of(connection)
    try:
        asyncio.run(_serve(target, port, opens=not no_open))
    except KeyboardInterrupt:
        raise typer.Exit(Exit.INTERRUPTED) from None


def target_of(connection: ConfiguredDaemonOptions) -> "PageTarget":
    """Return the daemon that the options name; raises `CommandError` if none answers there."""
    from manager.cli.conventions.daemon import daemon_of, socket_of, tls_of
    from manager.page.loopback import PageTarget

    client = daemon_of(connection)
    client.ask("overview")
    if connection.server is None:
        return PageTarget(socket_of(connection).absolute())
    tls = tls_of(connection.certificate_authority) if connection.server.startswith("https") else None
    return PageTarget(None, connection.server.rstrip("/"), client.token, tls)


async def _serve(target: "PageTarget", port: int, *, opens: bool) -> None:
    import asyncio

    from manager.page.loopback import LOOPBACK, LoopbackPage

    page = LoopbackPage(target)
    try:
        async with page.serving(port):
            typer.echo(f"page: {page.address}")
            typer.echo("The address is for you alone: it holds the secret with which this program answers.")
            typer.echo("Press Ctrl-C to end.")
            sys.stdout.flush()
            if opens:
                await open_browser(page)
            await asyncio.Event().wait()
    except OSError as error:
        raise BadInputError(f"--port {port}: cannot listen on {LOOPBACK}: {error.strerror or error}") from None


async def open_browser(page: "LoopbackPage") -> None:
    """Start a browser through a file that only this user may read: arguments of a process are seen by all users."""
    import asyncio
    import tempfile
    import webbrowser

    with tempfile.TemporaryDirectory(prefix="turnstile-ui-") as folder:  # mode 0700
        file = Path(folder, "open.html")
        redirect = f'<!doctype html><meta http-equiv="refresh" content="0;url={page.address}">'
        await asyncio.to_thread(file.write_text, redirect)
        if not await asyncio.to_thread(webbrowser.open, file.as_uri()):
            typer.echo("no browser could be started; open the address yourself", err=True)
        await asyncio.sleep(10)  # until the browser has read it
