"""`turnstile explain`: one screen about one Workload."""

import re
from typing import Annotated

import typer

from manager.cli.asking import Source
from manager.cli.completing import complete_workload
from manager.cli.conventions.ages import age
from manager.cli.conventions.optiongroups import with_option_groups
from manager.cli.conventions.options import Connection, NamespaceOption, Presentation, Watching
from manager.cli.conventions.output import Column, Obj, Report, show, table
from manager.cli.conventions.subjects import subject_of
from manager.cli.conventions.terminal import Screen, Tone, printable
from manager.cli.conventions.watching import follow
from manager.cli.listings import workload_name

WorkloadArgument = Annotated[
    str,
    typer.Argument(help="NAMESPACE/NAME, NAME with -n, workload/NAME or job/NAME.", autocompletion=complete_workload),
]


@with_option_groups
def explain(
    workload: WorkloadArgument,
    *,
    chosen: NamespaceOption,
    presentation: Presentation,
    watching: Watching,
    connection: Connection,
) -> None:
    """Say where a Workload is queued, what each worker says and would do, whose gate is open, and what happens next."""
    subject = subject_of(workload, chosen, connection)
    source = Source(connection)
    namespace, name = source.workload_of(subject)

    def fetch() -> Report:
        return _report(source.ask("workloads", namespace, name, "explanation"))

    if watching.watch:
        follow(fetch, presentation.output)
    else:
        show(fetch(), presentation.output)


def _report(answer: Obj) -> Report:
    body = {"source": answer["source"], "asOf": answer["now"]}
    body |= {key: value for key, value in answer.items() if key not in ("source", "now")}
    state = {**body, "asOf": "", "next": re.sub(r"\b\d+ s\b", "", body["next"])}  # a countdown is no change
    return Report(
        "Explanation", body, lambda screen, wide: _lines(body, screen, is_wide=wide), [workload_name(body)], state
    )


_SAYINGS = (
    Column("WORKER", lambda each: each["name"]),
    Column("GATE", lambda each: each["gate"], tone=lambda each: Tone.STRONG if each["gate"] == "open" else None),
    Column("WOULD", lambda each: each["forecast"].partition(":")[0]),
    Column("SAYS", lambda each: each["says"]),
)


def _lines(body: Obj, screen: Screen, *, is_wide: bool) -> list[str]:
    owner = f" ({body['owner']})" if body.get("owner") else ""
    lines = [screen.paint(printable(f"Workload {body['namespace']}/{body['name']}{owner}"), Tone.STRONG)]
    lines += [f"queue     {printable(_queue(body))}"] if body.get("queue") else []
    lines.append(f"state     {printable(body['state'])}")
    lines += [f"gate      open on {printable(gate)}" for gate in body.get("gates") or ()]
    if body.get("lastForecast"):
        lines.append(f"forecast  {printable(body['lastForecast'])}")
    if body.get("lastPodForecast"):
        lines.append(f"pods      {printable(body['lastPodForecast'])}")
    lines.append(f"next      {printable(body['next'])}")
    if body["workers"]:
        lines += ["", *table(_SAYINGS, body["workers"], screen, is_wide=is_wide)]
    for each in body["workers"]:
        lines += [printable(f"  {each['name']} {detail}") for detail in _details(each)]
    return lines


def _details(worker: Obj) -> list[str]:
    """Return whom a worker would preempt, and why it would not, unless that is what it says itself."""
    verdict, _, why = worker["forecast"].partition(": ")
    reason = [f"{verdict.lower()}: {why}"] if why and why != worker["says"] else []
    pods = [f"pods: {worker['pods']}"] if worker.get("pods") else []
    evicted = (f"would evict pod {victim}" for victim in worker.get("pod_victims") or ())
    return [*reason, *(f"would preempt {victim}" for victim in worker.get("victims") or ()), *pods, *evicted]


def _queue(body: Obj) -> str:
    where = f", ClusterQueue {body['clusterQueue']}" if body.get("clusterQueue") else ""
    waits = f", for {age(body['created'], body['asOf'])}" if body.get("created") else ""
    return f"LocalQueue {body['queue']}{where}{waits}"
