"""`turnstile replay`: repeats the decisions of a journal and reports differences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.api.meta import Obj
from manager.cli.conventions.completion import complete_workload
from manager.cli.conventions.errors import BadInputError, refusing
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Form, Presentation
from manager.cli.conventions.output import Report, show

if TYPE_CHECKING:
    from gates.model.actions import Decision
    from manager.journal.replay import Replayed


@with_option_groups
def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A journal (journal.path), or a copy of one.")],
    *,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="NAMESPACE/NAME",
            help="Only decisions about this Workload.",
            autocompletion=complete_workload,
        ),
    ] = None,
    workload_before: Annotated[str | None, typer.Option("-w", hidden=True)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Print every decision.")] = False,
    presentation: Presentation,
) -> None:
    """Repeat every recorded decision offline. Exits with 1 if one differs, with 2 for an unusable journal."""
    from manager.journal.replay import replayed
    from manager.journal.schema import JournalError

    workload = workload or workload_before
    is_screen = presentation.output in (Form.TABLE, Form.WIDE)
    made = differing = 0
    items: list[Obj] = []
    with refusing(JournalError):
        for each in replayed(file, workload):
            made += 1
            differing += not each.is_identical
            if is_screen:  # at once, because a journal may be long
                _tell(each, verbose=verbose)
            elif verbose or not each.is_identical:
                items.append(_item(each))
    if workload is not None and not made:
        raise BadInputError(
            f"{file}: no decision about Workload {workload} is recorded; Workloads are named NAMESPACE/NAME"
        )
    body = {"decisions": made, "identical": made - differing, "different": differing, "items": items}
    summary = f"{made} decisions replayed, {made - differing} identical, {differing} different"
    names = [f"workload.kueue.x-k8s.io/{item['workload'].rpartition('/')[2]}" for item in items]
    show(Report("Replay", body, lambda _screen, _wide: [summary], names), presentation.output)
    if differing:
        raise typer.Exit(Exit.NEGATIVE)


def _tell(each: "Replayed", *, verbose: bool) -> None:
    if verbose:
        typer.echo(each.line)
    if not each.is_identical:
        typer.echo(each.difference)


def _item(each: "Replayed") -> Obj:
    from config.api.meta import format_time

    return {
        "time": format_time(each.at_ns),
        "workload": each.workload,
        "repeated": each.repeated,
        "identical": each.is_identical,
        "recorded": _decision(each.recorded),
        "made": _decision(each.made),
    }


def _decision(decision: "Decision") -> Obj:
    actions = [type(action).__name__ for action in decision.actions]
    return {"rule": str(decision.rule), "actions": actions, "notes": list(decision.notes)}
