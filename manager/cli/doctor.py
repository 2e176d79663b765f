"""`turnstile doctor`: problems of the hub and its workers, with remedies."""

from typing import Annotated, Final

import typer

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.completion import complete_worker
from manager.cli.conventions.configuration import (
    ConfigFile,
    Seconds,
    client_context_of_command,
    configuration_and_hub,
)
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.exits import Exit
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import HubOptions, Presentation
from manager.cli.conventions.output import Report, show
from manager.cli.conventions.progress import working
from manager.cli.conventions.terminal import TerminalScreen, Tone

_TONES: Final = {"error": Tone.BAD, "warning": Tone.DOUBTFUL}


@with_option_groups
def doctor(
    *,
    config: ConfigFile = None,
    worker: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Examine only the hub and this worker.", autocompletion=complete_worker),
    ] = None,
    timeout: Seconds = 20.0,
    hub: HubOptions,
    presentation: Presentation,
) -> None:
    """Find problems on the hub and every worker, with remedies. Writes nothing, needs no daemon.

    Exits with 1 if there is an error, with 3 if the hub does not answer; warnings alone exit with 0.
    """
    import asyncio

    from config.api.meta import format_time
    from gates.detection.detected import kueue_document
    from gates.diagnosis.finding import finding_document
    from manager.doctor.rounds import UnknownWorkerError, examine_all

    form = presentation.without_names("-o json has the findings")
    configuration, access = configuration_and_hub(config, hub)
    client_context = client_context_of_command()
    try:
        with working("examining the clusters"):
            found = asyncio.run(examine_all(configuration, access, client_context, timeout, worker))
    except UnknownWorkerError as error:
        raise BadInputError(f"--worker: {error}") from None
    items: list[Obj] = [finding_document(each) for each in found.findings]
    stamp = format_time(client_context.clock.now_ns())
    kueues = {cluster: kueue_document(kueue) for cluster, kueue in found.kueues.items()}
    examined = {"clusters": list(found.clusters), "checks": found.checks, "kueue": kueues}
    body = {"source": "clusters", "asOf": stamp, **examined, "items": items}
    show(Report("FindingList", body, lambda screen, _wide: lines_of(body, screen), []), form)
    if not found.hub_answers:
        raise typer.Exit(Exit.NO_ANSWER)
    if any(each["severity"] == "error" for each in items):
        raise typer.Exit(Exit.NEGATIVE)


def lines_of(body: Obj, screen: TerminalScreen) -> list[str]:
    """Return a paragraph for each finding, and how much was examined."""
    lines = []
    for each in body["items"]:
        severity = screen.paint(each["severity"], _TONES.get(each["severity"]))
        lines.append(f"{printable(each['cluster'])}: {severity}: {printable(each['topic'] + ': ' + each['message'])}")
        lines.append(printable(f"  remedy: {each['remedy']}"))
    clusters = body["clusters"]
    counted = f"{len(body['items'])} finding(s)" if body["items"] else "no problems"
    where = f"{len(clusters)} cluster{'s' if len(clusters) > 1 else ''} ({', '.join(clusters)})"
    kueues = [f"{cluster} {kueue['version']} ({kueue['source']})" for cluster, kueue in body["kueue"].items()]
    versions = [printable(f"Kueue: {', '.join(kueues)}")] if kueues else []
    return [*lines, *versions, printable(f"{counted}: {body['checks']} checks on {where}")]
