"""What happens to daemons."""

from typing import Any, Final

from tests.simulation.events.kind import EventKind, a_daemon, lasting, once
from tests.simulation.plan import Event, Setting
from tests.simulation.system import System

# A daemon may believe that it is an hour earlier or later; a cluster is never set back by an hour.
STEPS: Final = ("-30.0", "-2.0", "2.0", "30.0", "600.0", "3600.0")


def _kill(system: System, event: Event) -> None:
    system.daemon(event.target).kill(max(event.seconds, 0.1))


def _stop_process(system: System, event: Event) -> None:
    system.loop.stop_process(system.daemon(event.target).process)


def _continue_process(system: System, event: Event) -> None:
    system.loop.continue_process(system.daemon(event.target).process)


def _set_clock(system: System, event: Event) -> None:
    system.daemon(event.target).clock.offset_ns += int(float(event.value) * 1e9)


def _reload(system: System, event: Event) -> None:
    system.options = _changed_options(event.value, system.plan.setting)
    system.reload(system.daemon(event.target))


def _changed_options(what: str, setting: Setting) -> dict[str, Any]:
    """Return settings that differ; a window may only become longer, so that the law keeps its measure."""
    if what == "timeout":
        return {"gates": {"single_cluster_preemption_timeout": f"{2 * setting.timeout}s"}}
    if what == "lost":
        return {"worker_lost_timeout": f"{setting.lost + 60}s"}
    return {"gc_interval": "45s"}


DAEMONS: Final = {
    "daemon is killed": EventKind(lasting("daemon is killed", a_daemon, 30.0), _kill),
    "daemon stands still": EventKind(lasting("daemon stands still", a_daemon, 30.0), _stop_process, _continue_process),
    "daemon's clock is set": EventKind(once("daemon's clock is set", a_daemon, ("-3600.0", *STEPS)), _set_clock),
    "daemon reloads": EventKind(once("daemon reloads", a_daemon, ("gc", "timeout", "lost")), _reload),
}
"""Kinds by name."""
