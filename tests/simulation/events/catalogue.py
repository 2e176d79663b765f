"""All kinds of events by name, and when those of a history happen.

A kind that lasts has an end; all trouble is over by `TROUBLE_ENDS`. An event that finds nothing to act on does nothing:
so any event may be left out of a history.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from localcluster.kinds.api_errors import ApiError
from tests.simulation.drawing import Draw, within_time
from tests.simulation.events.clusters import CLUSTERS, remove_all_finalizers
from tests.simulation.events.daemons import DAEMONS
from tests.simulation.events.kind import EventKind
from tests.simulation.events.network import NETWORK
from tests.simulation.events.operators import OPERATORS
from tests.simulation.events.users import SUBMIT, USERS
from tests.simulation.plan import TROUBLE_ENDS, Event
from tests.simulation.system import System

TROUBLE_KINDS: Final[dict[str, EventKind]] = {**NETWORK, **DAEMONS, **CLUSTERS, **OPERATORS, **USERS}
KINDS: Final[dict[str, EventKind]] = {"submit": SUBMIT, **TROUBLE_KINDS}
TROUBLE: Final[dict[str, Draw]] = {name: kind.draw for name, kind in TROUBLE_KINDS.items()}


def schedule(system: System) -> None:
    """Let the events of the plan happen."""
    for event in system.plan.events:
        if event.after:
            system.moments.follow(event.after, event.nth, partial(_follow, system, event))
        else:
            system.loop.call_at(event.at, _happen, system, event)
    system.loop.call_at(TROUBLE_ENDS + 1.0, remove_all_finalizers, system)


def _follow(system: System, event: Event, worker: str, job: str) -> None:
    """Let an event happen that follows a moment, unless it is too late for trouble."""
    at = system.loop.time() + event.at
    target = event.target.replace("@", worker).replace("%", job)
    if at < TROUBLE_ENDS - 10.0 and target and not target.endswith(">"):
        happening = within_time(replace(event, at=at, target=target, after=""))
        system.trouble_until = max(system.trouble_until, at)
        system.loop.call_at(at, _happen, system, happening, context=system.context)


def _happen(system: System, event: Event) -> None:
    kind = KINDS[event.kind]
    system.trace.add("EVENT", str(event))
    system.note_event(event)
    try:
        kind.begin(system, event)
    except ApiError as error:
        system.trace.add("EVENT", f"was refused: {error.message}")
    if kind.end is not None and event.seconds:
        system.loop.call_later(event.seconds, _end, system, event)


def _end(system: System, event: Event) -> None:
    kind = KINDS[event.kind]
    system.trace.add("EVENT", f"ends: {event.kind} {event.target}")
    if kind.end is not None:
        try:
            kind.end(system, event)
        except ApiError as error:
            system.trace.add("EVENT", f"was refused: {error.message}")
