"""Runs the demo from beginning to end and returns its exit code."""

import asyncio
import logging
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import yaml
from rich.console import Console

from config.api.meta import NANOSECONDS
from config.sections.process import Logging
from config.types.choices import LogFormat
from manager.demo import cast, script
from manager.demo.clusters import GATES_OFF, LocalClusterError
from manager.demo.foresight import tell_score
from manager.demo.interrupts import Interrupts
from manager.demo.invariants import DemoEvidence, InvariantFinding, check_invariants, victims
from manager.demo.keys import keys_read
from manager.demo.lines import Lines
from manager.demo.pace import Pace, Pauses
from manager.demo.playbill import Playbill
from manager.demo.report import PreemptionCounts, exit_code, findings_list, numbers_table
from manager.demo.screen import DemoScreen, fits
from manager.demo.sightings import ClusterSighting
from manager.demo.stage import SOCKET, WITH_GATES, Stage, set_stage
from manager.demo.story import Story
from manager.logging.logs import configure_logging
from manager.page.loopback import LoopbackPage, PageTarget
from manager.process.invocation import typed_name

LOG_FILE: Final = "daemon.log"
MANIFEST: Final = "urgent.yaml"
_WITHOUT_GATES: Final = "without-gates"
_ON_TERMINAL: Final = Pauses(step_seconds=2.5, act_seconds=8.0)


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    directory: Path | None = None
    keep: bool = False
    plain: bool = False
    page: bool = True
    """Show the page on loopback."""
    on_page: Callable[[LoopbackPage], Coroutine[None, None, None]] | None = None
    """Called once the page can be opened."""


class Presenter(Protocol):
    """Shows a playbill."""

    async def run(self) -> None:
        """Show it until cancelled."""


async def perform(options: Options, interrupts: Interrupts) -> int:
    """Play everything; with `keep`, leave the clusters up until told to stop."""
    interrupts.install()
    console = Console()
    is_live = not options.plain and fits(console)
    pace = Pace(_ON_TERMINAL if is_live else Pauses())
    playbill = Playbill(pace)
    lines = Lines(playbill, sys.stdout)
    with _workplace(options.directory) as where:
        kubeconfig = shlex.quote(str(where / cast.HUB / "kubeconfig"))
        presenter: Presenter = DemoScreen(playbill, console, kubeconfig) if is_live else lines
        keys = {" ": pace.hold_or_go_on, "n": pace.hurry, "q": interrupts.quit} if is_live else {}
        page = LoopbackPage(PageTarget(where / SOCKET))
        async with (
            page.serving() if options.page else nullcontext(),
            _opened(page, options.on_page),
            _shown_after(lines, _welcome(where, page if options.page else None), presenter) as shown,
            set_stage(where, WITH_GATES, _telling(playbill)) as stage,
        ):
            with keys_read(keys):
                findings, numbers = await _play(stage, where, playbill, page)
            shown.cancel()
            await asyncio.wait([shown])
            lines.flush(facts_only=is_live)
            lines.print(["", *numbers_table(numbers), tell_score(playbill.comparisons), "", *findings_list(findings)])
            lines.print(["", *_what_next()])
            if options.keep:
                lines.print(["", *_what_to_try(where)])
                async with _shown(lines):
                    await interrupts.wait()
    return exit_code(findings)


async def _play(
    stage: Stage, where: Path, playbill: Playbill, page: LoopbackPage
) -> tuple[list[InvariantFinding], PreemptionCounts]:
    story = Story(stage, playbill)
    playbill.begin(script.FULL, stage)
    await story.fill_workers()
    await playbill.pace.between_acts()
    playbill.begin(script.ONE_GATE, stage)
    await story.one_preempts()
    with_gates = victims(stage.sightings)
    await playbill.pace.between_acts()
    playbill.begin(script.STUCK, stage)
    await story.one_is_stuck()
    await playbill.pace.between_acts()
    findings = check_invariants(_evidence(stage))
    async with set_stage(where / _WITHOUT_GATES, [GATES_OFF] * len(cast.WORKERS), _telling(playbill)) as ungated:
        page.target = PageTarget(where / _WITHOUT_GATES / SOCKET)
        playbill.begin(script.WITHOUT, ungated)
        again = Story(ungated, playbill)
        await again.fill_workers()
        await again.one_preempts()
        without_gates = victims(ungated.sightings)
        await playbill.pace.between_acts()
    page.target = PageTarget(where / SOCKET)
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


@asynccontextmanager
async def _shown_after(lines: Lines, welcome: list[str], presenter: Presenter) -> AsyncIterator[asyncio.Task[None]]:
    """Print what there is to know beforehand, then let a presenter show the playbill."""
    lines.print(welcome)
    async with _shown(presenter) as task:
        yield task


@asynccontextmanager
async def _opened(
    page: LoopbackPage, on_page: Callable[[LoopbackPage], Coroutine[None, None, None]] | None
) -> AsyncIterator[None]:
    """Open the page beside everything else."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(on_page(page)) if on_page is not None else None
        try:
            yield
        finally:
            if task is not None:
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


def _welcome(where: Path, page: LoopbackPage | None) -> list[str]:
    names = ",".join((cast.HUB, *cast.WORKERS))
    return [
        "turnstile demo: one hub, three workers and the daemon on loopback, in this process",
        *([] if page is None else [f"  page:          {page.address}"]),
        f"  kubeconfigs:   {where}/{{{names}}}/kubeconfig",
        f"  daemon's log:  {where / LOG_FILE}",
        f"  status:        {_status_command(where)}",
    ]


def _what_next() -> list[str]:
    return [
        "Next:",
        f"  {typed_name()} local --fleet",
        "      clusters like these for jobs of your own; docs/tutorial.md, 15 minutes",
        "  docs/real-kueue.md",
        "      the same on real Kueue, beside Kueue's own controller",
        "  docs/install.md",
        "      on your clusters; begin with shadow mode, which only reads",
    ]


def _what_to_try(where: Path) -> list[str]:
    def kubectl(cluster: str, command: str) -> str:
        return f"  kubectl --kubeconfig {shlex.quote(str(where / cluster / 'kubeconfig'))} {command}"

    return [
        "The clusters stay up until Ctrl-C. In another terminal, submit one more urgent job and watch it:",
        kubectl(cast.HUB, f"create -f {shlex.quote(str(where / MANIFEST))}"),
        kubectl(cast.HUB, "get workloads"),
        kubectl(cast.WORKERS[0], "get jobs --watch"),
        f"  {_status_command(where)}",
    ]


def _status_command(where: Path) -> str:
    return f"{typed_name()} status --socket {shlex.quote(str(where / SOCKET))}"
