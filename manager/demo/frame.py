"""One picture of the demo as a value: everything that its screen shows at a moment."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from manager.demo import cast
from manager.demo.picture import HubPicture, WorkerPicture, hub_picture, worker_picture
from manager.demo.playbill import LogLine, Playbill
from manager.demo.script import Act

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """What is to be drawn."""

    seconds: float = 0.0
    act: Act | None = None
    workers: Mapping[str, WorkerPicture] = field(default_factory=dict)
    hub: HubPicture = field(default_factory=HubPicture)
    lines: Sequence[LogLine] = ()
    kubeconfig: str = ""
    is_held: bool = False
    next_act_seconds: float | None = None
    """While the story waits between two acts: for how much longer."""


def frame_of(playbill: Playbill, kubeconfig: str) -> Frame:
    """Look at the clusters and at what was said so far."""
    stage, pace = playbill.stage, playbill.pace
    workers = {
        name: worker_picture(
            stage, name, playbill.first_sighting, time.time_ns(), playbill.at_risk.get(name, frozenset())
        )
        for name in (cast.WORKERS if stage is not None else ())
        if stage is not None
    }
    return Frame(
        seconds=playbill.seconds,
        act=playbill.act,
        workers=workers,
        hub=HubPicture() if stage is None else hub_picture(stage),
        lines=playbill.lines,
        kubeconfig=kubeconfig,
        is_held=pace.is_held,
        next_act_seconds=None if pace.next_act_at is None else max(0.0, pace.next_act_at - time.monotonic()),
    )


def without_dates(message: str) -> str:
    """Return a message with the time of day alone: a demo is over before the day is."""
    return _MOMENT.sub(r"\1", message)
