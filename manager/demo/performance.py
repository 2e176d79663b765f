"""Runs the demo from beginning to end and returns its exit code."""

import asyncio
import logging
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import yaml
from rich.console import Console

from config.api.meta import NANOSECONDS
from config.sections.sections import Logging
from config.types.choices import LogFormat
from manager.demo import cast, script
from manager.demo.clusters import GATES_OFF, LocalClusterError
from manager.demo.interrupts import Interrupts
from manager.demo.invariants import DemoEvidence, InvariantFinding, check_invariants, victims
from manager.demo.lines import Lines
from manager.demo.playbill import Playbill
from manager.demo.report import PreemptionCounts, exit_code, findings_list, numbers_table
from manager.demo.screen import DemoScreen, fits
from manager.demo.sightings import ClusterSighting
from manager.demo.stage import WITH_GATES, Stage, set_stage
from manager.demo.story import Story
from manager.logging.logs import configure_logging

LOG_FILE: Final = "daemon.log"
MANIFEST: Final = "urgent.yaml"
_WITHOUT_GATES: Final = "without-gates"
_PAUSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    directory: Path | None = None
    keep: bool = False
    plain: bool = False


class Presenter(Protocol):
    """Shows a playbill."""

    async def run(self) -> None:
        """Show it until cancelled."""


async def perform(options: Options, interrupts: Interrupts) -> int:
    """Play everything; with `keep`, leave the clusters up until told to stop."""
    interrupts.install()
    console = Console()
    is_live = not options.plain and fits(console)
    playbill = Playbill(_PAUSE_SECONDS if is_live else 0.0)
    lines = Lines(playbill, sys.stdout)
    presenter: Presenter = DemoScreen(playbill, console) if is_live else lines
    with _workplace(options.directory) as where:
        lines.print(_welcome(where))
        async with _shown(presenter) as shown, set_stage(where, WITH_GATES, _telling(playbill)) as stage:
            findings, numbers = await _play(stage, where, playbill)
            shown.cancel()
            await asyncio.wait([shown])
            lines.flush(facts_only=is_live)
            lines.print(["", *numbers_table(numbers), "", *findings_list(findings)])
            if options.keep:
                lines.print(["", *_what_to_try(where)])
                async with _shown(lines):
                    await interrupts.wait()
    return exit_code(findings)


async def _play(stage: Stage, where: Path, playbill: Playbill) -> tuple[list[InvariantFinding], PreemptionCounts]:
    story = Story(stage, playbill)
    playbill.begin(script.FULL, stage)
    await story.fill_workers()
    playbill.begin(script.ONE_GATE, stage)
    await story.one_preempts()
    with_gates = victims(stage.sightings)
    playbill.begin(script.STUCK, stage)
    await story.one_is_stuck()
    findings = check_invariants(_evidence(stage))
    async with set_stage(where / _WITHOUT_GATES, [GATES_OFF] * len(cast.WORKERS), _telling(playbill)) as ungated:
        playbill.begin(script.WITHOUT, ungated)
        again = Story(ungated, playbill)
        await again.fill_workers()
        await again.one_preempts()
        without_gates = victims(ungated.sightings)
    return findings, PreemptionCounts(with_gates, without_gates)


def _evidence(stage: Stage) -> DemoEvidence:
    timeout_ns = cast.TIMEOUT_SECONDS * NANOSECONDS
    return DemoEvidence(tuple(stage.sightings), (cast.FIRST, cast.SECOND), cast.HUB, stage.gate_fields, timeout_ns)


def _telling(playbill: Playbill) -> Callable[[ClusterSighting], None]:
    """Return the observers that pass on what is seen."""
    narrator = script.Narrator()

    def tell(seen: ClusterSighting) -> None:
        if text := narrator.tell(seen):
            playbill.see(seen.cluster, text)

    return tell


@asynccontextmanager
async def _shown(presenter: Presenter) -> AsyncIterator[asyncio.Task[None]]:
    """Let a presenter show the playbill until the block ends; who cancels the task earlier takes its place."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(presenter.run())
        try:
            yield task
        finally:
            task.cancel()


@contextmanager
def _workplace(directory: Path | None) -> Iterator[Path]:
    """Yield where everything goes, with the daemon's log and a manifest to try; a temporary place is removed."""
    with TemporaryDirectory(prefix="turnstile-demo-") if directory is None else nullcontext(str(directory)) as name:
        where = Path(name)
        try:
            where.mkdir(parents=True, exist_ok=True)
            (where / MANIFEST).write_text(yaml.safe_dump(cast.job_to_try(), sort_keys=False))
            log = (where / LOG_FILE).open("w")
        except OSError as error:
            raise LocalClusterError(f"--directory: cannot write to {where}: {error.strerror}") from error
        handler = logging.StreamHandler(log)
        with log:
            configure_logging(Logging(format=LogFormat.CONSOLE), log)
            logging.getLogger().addHandler(handler)
            try:
                yield where
            finally:
                logging.getLogger().removeHandler(handler)


def _welcome(where: Path) -> list[str]:
    names = ",".join((cast.HUB, *cast.WORKERS))
    return [
        "turnstile demo: one hub, three workers and the daemon on loopback, in this process",
        f"  kubeconfigs:   {where}/{{{names}}}/kubeconfig",
        f"  daemon's log:  {where / LOG_FILE}",
    ]


def _what_to_try(where: Path) -> list[str]:
    def kubectl(cluster: str, command: str) -> str:
        return f"  kubectl --kubeconfig {shlex.quote(str(where / cluster / 'kubeconfig'))} {command}"

    return [
        "The clusters stay up until Ctrl-C. In another terminal, submit one more urgent job and watch it:",
        kubectl(cast.HUB, f"create -f {shlex.quote(str(where / MANIFEST))}"),
        kubectl(cast.HUB, "get workloads"),
        kubectl(cast.WORKERS[0], "get jobs --watch"),
    ]
