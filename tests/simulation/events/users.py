"""What users do, on the hub and on workers."""

import json
from typing import Final

from config.api.meta import Obj
from gates.model import marks
from localcluster.sample_queues import NAMESPACE
from tests.simulation.events.kind import EventKind, Target, a_job, a_worker, lasting, once
from tests.simulation.plan import SERVING, Event
from tests.simulation.serving import groups_of, scale, serve, stop_serving
from tests.simulation.system import System

_SERVING: Target = lambda _chance, _setting: SERVING  # noqa: E731


def _submit(system: System, event: Event) -> None:
    system.submit(event.target, json.loads(event.value))


def _delete_job(system: System, event: Event) -> None:
    if system.hub.find("jobs", event.target, NAMESPACE) is not None:
        system.hub.delete("jobs", event.target, NAMESPACE)


def _change_priority(system: System, event: Event) -> None:
    def change(job: Obj) -> None:
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = event.value

    if system.hub.find("jobs", event.target, NAMESPACE) is not None:
        system.hub.change("jobs", event.target, NAMESPACE, change)


def _edit_record(system: System, event: Event) -> None:
    """Remove a record of ours from a Workload, or make it unreadable."""
    name, _, value = event.value.partition("=")
    for workload in system.hub_workloads(event.target):

        def edit(obj: Obj) -> None:
            annotations = obj["metadata"].setdefault("annotations", {})
            if value:
                annotations[name] = value
            else:
                annotations.pop(name, None)

        system.hub.change("workloads", workload["metadata"]["name"], NAMESPACE, edit)


def _set_active(system: System, event: Event, *, is_active: bool) -> None:
    for workload in system.hub_workloads(event.target):
        name = workload["metadata"]["name"]
        system.hub.change("workloads", name, NAMESPACE, lambda obj: obj["spec"].update(active=is_active))


def _delete_workload(system: System, event: Event) -> None:
    for workload in system.hub_workloads(event.target):
        system.hub.delete("workloads", workload["metadata"]["name"], NAMESPACE)


def _submit_stray(system: System, event: Event) -> None:
    system.submit_stray(event.value, f"stray-{int(system.loop.time() * 1000)}")


def _preempt_on_worker(system: System, event: Event) -> None:
    """Submit a job of a worker's own that is more important than what runs there."""
    name = f"rival-{event.target}-{int(system.loop.time() * 1000)}"
    system.occupy(system.cluster(event.target), name, 0, "urgent", 20)


def _occupy(system: System, event: Event) -> None:
    name = f"more-{event.target}-{int(system.loop.time() * 1000)}"
    system.occupy(system.cluster(event.target), name, 5, "low", 60)


def _scale(system: System, event: Event) -> None:
    if groups_of(system):
        scale(system, int(event.value))


USERS: Final = {
    "job is deleted": EventKind(once("job is deleted", a_job), _delete_job),
    "priority changes": EventKind(once("priority changes", a_job, ("low", "high")), _change_priority),
    "record is edited": EventKind(
        once(
            "record is edited",
            a_job,
            (
                f"{marks.GATE_OPENINGS}=",
                f"{marks.GATE_OPENINGS}=nonsense",
                f"{marks.GATE_OPENINGS}=[]",
                f"{marks.WINNER}=",
                f"{marks.WINNER}=nonsense",
                f"{marks.FORECAST}=nonsense",
                f"{marks.ROUND_STARTED}=nonsense",
            ),
        ),
        _edit_record,
    ),
    "Workload is deactivated": EventKind(
        lasting("Workload is deactivated", a_job, 30.0),
        lambda system, event: _set_active(system, event, is_active=False),
        lambda system, event: _set_active(system, event, is_active=True),
    ),
    "Workload is deleted": EventKind(once("Workload is deleted", a_job), _delete_workload),
    "job that cannot be dispatched": EventKind(
        once("job that cannot be dispatched", lambda _chance, _setting: "hub", ("unmanaged", "unowned", "unchecked")),
        _submit_stray,
    ),
    "groups are served": EventKind(lasting("groups are served", _SERVING, 90.0, ("2", "3")), serve, stop_serving),
    "groups are scaled": EventKind(once("groups are scaled", _SERVING, ("1", "2", "3")), _scale),
    "winner is preempted": EventKind(once("winner is preempted", a_worker), _preempt_on_worker),
    "worker gets busy": EventKind(once("worker gets busy", a_worker), _occupy),
}
"""Kinds by name."""

SUBMIT: Final = EventKind(once("submit", a_job), _submit)
"""Every history has jobs, so that this is drawn apart."""
