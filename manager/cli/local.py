"""`turnstile local`: API servers on this machine to try things on, and faults for them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manager.cli.conventions.errors import BadInputError, NoAnswerError, innermost, refusing
from manager.cli.conventions.group import CommandGroup
from manager.cli.examples import examples_of

if TYPE_CHECKING:
    from manager.local.control import LinkFault

_DEFAULT_DIRECTORY = Path(".turnstile")

Directory = Annotated[
    Path,
    typer.Option(
        metavar="DIRECTORY", help="For certificates, kubeconfigs and everything else; one process uses it at a time."
    ),
]
Cluster = Annotated[str, typer.Argument(metavar="CLUSTER", help="The name of the cluster, such as worker-1.")]

app = typer.Typer(
    name="local",
    help="Start local clusters on loopback and serve until Ctrl-C; cut them off and restore them.",
    cls=CommandGroup,
    epilog=examples_of("local"),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def local(
    context: typer.Context,
    clusters: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Names of the clusters, comma-separated; the first one is a fleet's hub."),
    ] = "hub,worker-1,worker-2",
    directory: Directory = _DEFAULT_DIRECTORY,
    kueue: Annotated[
        bool, typer.Option("--kueue", help="Run a Kueue simulator on each cluster, which also runs Jobs.")
    ] = False,
    fleet: Annotated[
        bool,
        typer.Option(
            "--fleet",
            help="Make them a fleet, ready for jobs: --kueue, queues, priorities, registered workers, and the daemon.",
        ),
    ] = False,
) -> None:
    """Start local clusters on loopback and serve until Ctrl-C."""
    if context.invoked_subcommand is not None:
        return
    import asyncio

    from localcluster.cluster import LocalClusterError
    from manager.local.serving import LocalOptions, serve_local

    names = [name.strip() for name in clusters.split(",")]
    options = LocalOptions(names, directory.absolute(), with_kueue=kueue, is_fleet=fleet)
    try:
        asyncio.run(serve_local(options, _tell))
    except (LocalClusterError, ExceptionGroup) as error:
        problem = innermost(error)
        if isinstance(problem, LocalClusterError):
            raise BadInputError(str(problem)) from None
        raise


@app.command(epilog=examples_of("local cut"))
def cut(
    cluster: Cluster,
    *,
    directory: Directory = _DEFAULT_DIRECTORY,
    silent: Annotated[
        bool, typer.Option("--silent", help="Accept connections and never answer, instead of refusing them.")
    ] = False,
) -> None:
    """Cut a local cluster off, as a broken network does; its jobs run on."""
    from manager.local.control import LinkFault

    _strike(LinkFault.SILENCE if silent else LinkFault.CUT, cluster, directory)
    how = "accepts connections and does not answer" if silent else "refuses connections"
    typer.echo(f"{cluster} {how}; `turnstile local restore {cluster}` ends that")


@app.command(epilog=examples_of("local restore"))
def restore(cluster: Cluster, *, directory: Directory = _DEFAULT_DIRECTORY) -> None:
    """Let a local cluster answer again."""
    from manager.local.control import LinkFault

    _strike(LinkFault.RESTORE, cluster, directory)
    typer.echo(f"{cluster} answers again")


def _strike(fault: "LinkFault", cluster: str, directory: Path) -> None:
    import asyncio

    from localcluster.cluster import LocalClusterError
    from manager.local.control import NotServedError, request_fault

    try:
        with refusing(LocalClusterError):
            asyncio.run(request_fault(directory.absolute(), fault, cluster))
    except NotServedError as error:
        raise NoAnswerError(str(error)) from None


def _tell(line: str) -> None:
    typer.echo(line)
