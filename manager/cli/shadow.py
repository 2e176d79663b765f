"""`turnstile shadow report`: what shadow mode saw, from the running daemon or from a journal."""

from pathlib import Path
from typing import Annotated

import typer

from config.api.meta import Obj
from manager.cli.conventions.errors import refusing
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import DaemonOptions, Presentation
from manager.cli.conventions.output import Report, show
from manager.cli.shadow_report import lines_of

app = typer.Typer(name="shadow", help="What `turnstile run --shadow` observed.", no_args_is_help=True)


@app.callback()
def shadow() -> None:
    """Keep `report` a command of its own, though it is the only one."""


@app.command()
@with_option_groups
def report(
    *,
    journal: Annotated[
        Path | None,
        typer.Option(help="A journal (journal.path), or a copy of one: read it instead of asking a daemon."),
    ] = None,
    last: Annotated[
        int | None, typer.Option(min=1, help="List only the last N episodes; totals always include all.")
    ] = None,
    presentation: Presentation,
    connection: DaemonOptions,
) -> None:
    """Show which workers were allowed to preempt, what it cost, and what other policies would have saved."""
    found = _from_daemon(connection) if journal is None else _from_journal(journal)
    if last is not None:
        found["episodes"] = found["episodes"][-last:]
    names = [f"workload.kueue.x-k8s.io/{episode['workload'].partition('/')[2]}" for episode in found["episodes"]]
    shown = Report("ShadowReport", found, lambda screen, wide: lines_of(found, screen, is_wide=wide), names)
    show(shown, presentation.output)


def _from_daemon(connection: DaemonOptions) -> Obj:
    from manager.cli.conventions.daemon import daemon_of

    found: Obj = daemon_of(connection).ask("shadow")
    return found


def _from_journal(path: Path) -> Obj:
    from manager.journal.reader import blamed_on
    from manager.journal.schema import JournalError
    from manager.shadow.episode_log import EpisodeLog, recorded_episodes
    from manager.shadow.report import report_of

    with refusing(JournalError), blamed_on(path):
        return report_of(EpisodeLog(recorded_episodes(path)))
