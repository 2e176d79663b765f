"""Moments of the demo as values, for tests of its screen and for the pictures in the docs."""

import io
from pathlib import Path

from rich.console import Console

from config.api.meta import NANOSECONDS
from manager.demo.frame import Frame
from manager.demo.picture import Bar, CopyPicture, CopyState, HubPicture, JobPicture, WorkerPicture
from manager.demo.playbill import LogLine, Sort
from manager.demo.screen import draw
from manager.demo.script import ONE_GATE, STUCK
from manager.demo.sightings import JobPhase

ROOT = Path(__file__).resolve().parents[2]
KUBECONFIG = "/tmp/turnstile-demo-x1y2z3ab/hub/kubeconfig"  # noqa: S108 - shown, never opened
RUNNING, STOPPING = JobPhase.RUNNING, JobPhase.STOPPING


def worker(*told: str, at_risk: tuple[str, ...] = (), copy: CopyPicture | None = None) -> WorkerPicture:
    """Return a worker whose four jobs run, except those that were told to stop."""
    names = [f"batch-{number}" for number in range(1, 5)]
    jobs = tuple(JobPicture(name, STOPPING if name in told else RUNNING, name in at_risk) for name in names)
    bar = Bar(low=8 - 2 * len(told), stopping=2 * len(told), urgent=0)
    return WorkerPicture(bar, jobs, (copy,) if copy is not None else (), len(told))


def seen(seconds: float, cluster: str, text: str) -> LogLine:
    return LogLine(Sort.SEEN, seconds, text, cluster)


FORETOLD = Frame(
    seconds=14,
    act=ONE_GATE,
    workers={
        "worker-1": worker(at_risk=("batch-1", "batch-3")),
        "worker-2": worker(at_risk=("batch-1", "batch-4")),
        "worker-3": worker(at_risk=("batch-2", "batch-4")),
    },
    lines=[
        LogLine(Sort.FACT, 3.2, "CPUs in use: worker-1 8 of 8, worker-2 8 of 8, worker-3 8 of 8"),
        LogLine(Sort.ACT, 11.2, ONE_GATE.title, act=ONE_GATE),
        LogLine(Sort.FACT, 13.7, "forecast: batch-1 and batch-3 would be preempted", "worker-1"),
        LogLine(Sort.FACT, 13.7, "forecast: batch-1 and batch-4 would be preempted", "worker-2"),
        LogLine(Sort.FACT, 13.7, "forecast: batch-2 and batch-4 would be preempted", "worker-3"),
    ],
    kubeconfig=KUBECONFIG,
)
"""Before the first gate opens: what each worker would do."""

OPEN = Frame(
    seconds=33,
    act=STUCK,
    workers={
        "worker-1": worker("batch-1", "batch-3", copy=CopyPicture("urgent-b", CopyState.OPEN, 5 * NANOSECONDS)),
        "worker-2": worker(at_risk=("batch-1", "batch-4"), copy=CopyPicture("urgent-b", CopyState.ASKS)),
        "worker-3": worker(at_risk=("batch-2", "batch-4"), copy=CopyPicture("urgent-b", CopyState.ASKS)),
    },
    hub=HubPicture(
        "urgent-b",
        "Pending",
        "Pending on worker-1, worker-2, worker-3; asked to preempt: worker-1, worker-2, worker-3; gate open: worker-1 "
        "since 2026-01-01T12:00:00Z; the window of worker-1 ends at 2026-01-01T12:00:08Z; next is worker-2",
    ),
    lines=[
        LogLine(Sort.FACT, 29.6, "urgent-b is submitted: 4 CPUs, high priority", "hub"),
        seen(29.9, "worker-1", "asks to preempt for urgent-b"),
        seen(29.9, "worker-2", "asks to preempt for urgent-b"),
        seen(29.9, "worker-3", "asks to preempt for urgent-b"),
        seen(30.0, "hub", "forecast for worker-1: batch-1 and batch-3 will be preempted"),
        seen(30.0, "hub", "notes that worker-1 may preempt for urgent-b"),
        seen(30.1, "worker-1", "GATE OPEN for urgent-b: may preempt, alone for 8 s"),
        seen(30.1, "worker-1", "batch-1 is preempted and told to stop"),
        seen(30.1, "worker-1", "batch-3 is preempted and told to stop"),
        LogLine(Sort.FACT, 30.2, "batch-1 and batch-3 ignore it: urgent-b cannot start", "worker-1"),
    ],
    kubeconfig=KUBECONFIG,
)
"""While one worker may preempt."""

PICTURES = {
    ROOT / "docs/images/demo-80x24.svg": (OPEN, 80, 24),
    ROOT / "docs/images/demo-120x40.svg": (FORETOLD, 120, 40),
}


def recorded(frame: Frame, width: int, height: int) -> Console:
    """Return a console on which a moment was drawn."""
    console = Console(
        record=True,
        width=width,
        height=height,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        _environ={},
    )
    console.print(draw(frame, width, height), height=height)
    return console


def svg(frame: Frame, width: int, height: int) -> str:
    """Return a moment as a picture; equal moments give equal pictures."""
    picture = recorded(frame, width, height).export_svg(title="turnstile demo", unique_id=f"demo-{width}x{height}")
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"
