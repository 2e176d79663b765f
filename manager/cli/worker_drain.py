"""`turnstile worker drain`: says what would move where, asks, and moves it at a bounded rate."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.errors import BadInputError, CommandError
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.output import TableColumn, table
from manager.cli.conventions.terminal import screen_of
from manager.cli.display.fitting import Priority
from manager.cli.examples import examples_of
from manager.cli.worker import app, carry_out, onboarding_of
from manager.cli.worker_options import DryRun, HubAdministrator, Name, Namespace

if TYPE_CHECKING:
    from manager.onboarding.draining import Draining
    from manager.onboarding.workers import Onboarding

__all__ = ["app"]

_READ_SECONDS: Final = 30.0
_BAR: Final = 30
_COLUMNS: Final = (
    TableColumn("WORKLOAD", lambda each: f"{each['namespace']}/{each['name']}", priority=Priority.ESSENTIAL),
    TableColumn("OWNER", lambda each: each["owner"] or "-", priority=Priority.EXTRA),
    TableColumn("PRIORITY", lambda each: each["priority"]),
    TableColumn("TO", lambda each: each["to"] or "none", priority=Priority.ESSENTIAL),
    TableColumn("PREEMPTS", lambda each: ", ".join(each["victims"]) or "-", priority=Priority.ESSENTIAL),
    TableColumn("WHY", lambda each: each["why"], priority=Priority.EXTRA),
)


def _timeout(text: str) -> str:
    from config.types.duration import DurationError, parse_duration

    try:
        parse_duration(text)
    except DurationError as error:
        raise typer.BadParameter(f'a duration (for example "1h"); it {error}') from None
    return text


@app.command(epilog=examples_of("worker drain"))
@with_option_groups
def drain(
    name: Name,
    *,
    hub: HubAdministrator,
    namespace: Namespace = "turnstile-system",
    per_minute: Annotated[
        int,
        typer.Option(
            metavar="NUMBER", min=1, max=6000, help="How many Workloads are sent back to the queue in a minute."
        ),
    ] = 10,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing of the hub runs there any more.")] = False,
    timeout: Annotated[str, typer.Option(metavar="DURATION", help="How long --wait waits.", callback=_timeout)] = "1h",
    dry_run: DryRun = False,
) -> None:
    """Cordon a worker and move what runs there to other workers. Run it again to continue."""
    onboarding = onboarding_of(hub, namespace, is_rehearsal=False, adopts=False)
    request = _Request(name, namespace, per_minute, timeout if wait else "", asks=not yes, is_rehearsal=dry_run)
    carry_out(_drain(request, onboarding))


@dataclass(frozen=True, slots=True)
class _Request:
    name: str
    namespace: str
    per_minute: int
    wait: str
    asks: bool
    is_rehearsal: bool


async def _drain(asked: _Request, onboarding: "Onboarding") -> None:
    from config.api.identifiers import WorkerName
    from config.names import CONFIG_API_VERSION, CONFIG_KIND, CONTROLLER_NAME
    from config.sections.sections import HubSection
    from config.sections.settings import Configuration
    from config.types.duration import parse_duration
    from manager.base.from_configuration import kueues_of, policies_of, settings_of
    from manager.cli.conventions.configuration import client_context_of_command
    from manager.onboarding.draining import Draining
    from manager.planning.listed import listed_planner
    from workerclient.cluster import ClusterClient

    name, context, site = asked.name, client_context_of_command(), HubSection(namespace=asked.namespace)
    configuration = Configuration(api_version=CONFIG_API_VERSION, kind=CONFIG_KIND, hub=site)
    client = ClusterClient("hub", onboarding.hub, context)
    try:
        rules = settings_of(configuration), policies_of(configuration), kueues_of(configuration)
        planner = await listed_planner(configuration, client, rules, context, _READ_SECONDS)
        draining = Draining(client, WorkerName(name), CONTROLLER_NAME, planner, context.clock)
        await draining.refuse_last()
        moves = [move.document() for move in await draining.moves()]
        _show(name, moves)
        if asked.is_rehearsal:
            return
        if moves and asked.asks:
            _ask(len(moves))
        await onboarding.cordon(name)
        await draining.evict_all(asked.per_minute, lambda key: typer.echo(printable(f"sent back to the queue: {key}")))
        if asked.wait:
            await _wait(draining, parse_duration(asked.wait).total_seconds(), name)
    finally:
        await client.close()


def _show(name: str, moves: list[Obj]) -> None:
    if not moves:
        typer.echo(f"nothing of the hub runs on {name}")
        return
    for line in table(_COLUMNS, moves, screen_of(sys.stdout), is_wide=False):
        typer.echo(line)
    nowhere = sum(not move["to"] for move in moves)
    victims = sum(len(move["victims"]) for move in moves)
    typer.echo(f"{len(moves)} Workloads would leave {name}: {victims} others preempted, {nowhere} fit nowhere now")


def _ask(count: int) -> None:
    if not sys.stdin.isatty():
        raise BadInputError(f"--yes: must be given to move {count} Workloads without a terminal to ask on")
    if not typer.confirm("Move them?"):
        raise CommandError("nothing was changed")


async def _wait(draining: "Draining", seconds: float, name: str) -> None:
    progress = _Progress(name)
    if not await draining.until_empty(seconds, progress.tell):
        message = f"{progress.left} Workloads are still on {name} after {seconds:g} s; run the command again to go on"
        raise CommandError(message)
    typer.echo(f"{name} is drained")


class _Progress:
    """Shows how much is left: a bar on a terminal, a line for each change anywhere else."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._total = 0
        self.left = -1

    def tell(self, left: int) -> None:
        if left == self.left:
            return
        self.left, self._total = left, max(self._total, left)
        if not sys.stdout.isatty():
            typer.echo(f"{left} Workloads left on {self._name}")
            return
        done = self._total - left
        filled = _BAR * done // self._total if self._total else _BAR
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}]"
        typer.echo(f"\rdraining {self._name} {bar} {done}/{self._total}", nl=not left)
