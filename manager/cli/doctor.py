"""`turnstile doctor`: what is not as it should be on the hub and its workers, and what to do about it."""

from typing import Annotated, Final

import typer

from manager.cli.configured import ConfigFile, Seconds, configuration_of, configured_hub, surroundings_of_command
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import HubOptions, Presentation
from manager.cli.conventions.output import Column, Listing, Obj, show
from manager.cli.conventions.terminal import Tone

_TONES: Final = {"error": Tone.BAD, "warning": Tone.DOUBTFUL}
_COLUMNS: Final = (
    Column("CLUSTER", lambda each: each["cluster"]),
    Column("SEVERITY", lambda each: each["severity"], tone=lambda each: _TONES.get(each["severity"])),
    Column("ABOUT", lambda each: each["topic"]),
    Column("FINDING", lambda each: each["message"]),
    Column("REMEDY", lambda each: each["remedy"]),
)


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

    from manager.doctor.rounds import UnknownWorkerError, examine_all

    configuration = configuration_of(config)
    access = configured_hub(configuration, hub)
    try:
        found = asyncio.run(examine_all(configuration, access, surroundings_of_command(), timeout, worker))
    except UnknownWorkerError as error:
        raise BadInputError(f"--worker: {error}") from None
    items: list[Obj] = [{name: str(value) for name, value in asdict(each).items()} for each in found.findings]
    empty = f"nothing found: {', '.join(found.clusters)}"
    listing = Listing(
        "FindingList",
        items,
        _COLUMNS,
        lambda each: f"{each['cluster']}/{each['topic']}",
        empty,
        {"clusters": list(found.clusters)},
    )
    show(listing, presentation.output)
    if not found.hub_answers:
        raise typer.Exit(Exit.NO_ANSWER)
    if any(each["severity"] == "error" for each in items):
        raise typer.Exit(Exit.NEGATIVE)
