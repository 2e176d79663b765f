"""`turnstile doctor`: what is not as it should be on the hub and its workers, and what to do about it."""

from typing import Annotated, Final

import typer

from manager.cli.configured import ConfigFile, Seconds, configuration_of, configured_hub, surroundings_of_command
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import HubOptions, Presentation
from manager.cli.conventions.output import Obj, Report, show
from manager.cli.conventions.terminal import Screen, Tone, printable

_TONES: Final = {"error": Tone.BAD, "warning": Tone.DOUBTFUL}


@with_option_groups
def doctor(
    *,
    config: ConfigFile = None,
    worker: Annotated[str | None, typer.Option(help="Look only at this worker, beside the hub.")] = None,
    timeout: Seconds = 20.0,
    hub: HubOptions,
    presentation: Presentation,
) -> None:
    """Look for what is not as it should be on the hub and every worker; say what to do. Reads only, needs no daemon.

    Exits with 1 if there is an error, with 3 if the hub does not answer; warnings alone are no failure.
    """
    import asyncio
    from dataclasses import asdict

    from config.api.meta import format_time
    from manager.doctor.rounds import UnknownWorkerError, examine_all

    configuration = configuration_of(config)
    access = configured_hub(configuration, hub)
    surroundings = surroundings_of_command()
    try:
        found = asyncio.run(examine_all(configuration, access, surroundings, timeout, worker))
    except UnknownWorkerError as error:
        raise BadInputError(f"--worker: {error}") from None
    items: list[Obj] = [{name: str(value) for name, value in asdict(each).items()} for each in found.findings]
    stamp = format_time(surroundings.clock.now_ns())
    body = {"source": "clusters", "asOf": stamp, "clusters": list(found.clusters), "items": items}
    names = [f"{each['cluster']}/{each['topic']}" for each in items]
    show(Report("FindingList", body, lambda screen, _wide: lines_of(body, screen), names), presentation.output)
    if not found.hub_answers:
        raise typer.Exit(Exit.NO_ANSWER)
    if any(each["severity"] == "error" for each in items):
        raise typer.Exit(Exit.NEGATIVE)


def lines_of(body: Obj, screen: Screen) -> list[str]:
    """Return a paragraph for each finding, and which clusters were looked at."""
    lines = []
    for each in body["items"]:
        severity = screen.paint(each["severity"], _TONES.get(each["severity"]))
        lines.append(f"{printable(each['cluster'])}: {severity}: {printable(each['topic'] + ': ' + each['message'])}")
        lines.append(printable(f"  remedy: {each['remedy']}"))
    looked = ", ".join(body["clusters"])
    counted = f"{len(body['items'])} finding(s)" if body["items"] else "nothing found"
    return [*lines, printable(f"{counted} on {looked}")]
