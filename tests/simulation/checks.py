"""Another admission check of the hub's queue, with a controller of its own that takes its time."""

from contextvars import Context
from typing import TYPE_CHECKING, Final

from config.names import KUEUE_API_VERSION
from localcluster.sample_queues import NAMESPACE, QUEUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from config.api.meta import Obj
    from localcluster.store.ledger import Change, Collection
    from tests.simulation.clusters import SimulatedCluster
    from tests.simulation.loop import SimulatedLoop

_NAME: Final = "budget"
_SECONDS: Final = 7.0
"""How long it takes to agree."""


class SecondCheck:
    """The check and its controller."""

    def __init__(self, hub: "SimulatedCluster", loop: "SimulatedLoop", context: Context) -> None:
        self._hub = hub
        self._loop = loop
        self._context = context

    def set_up(self) -> None:
        """Create the check, and begin to answer."""
        check = {"apiVersion": KUEUE_API_VERSION, "kind": "AdmissionCheck", "metadata": {"name": _NAME}}
        self._hub.create("admissionchecks", {**check, "spec": {"controllerName": "example.dev/budget"}})
        condition = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": ""}
        condition["lastTransitionTime"] = self._now()
        self._hub.change(
            "admissionchecks",
            _NAME,
            "",
            lambda obj: obj.update(status={"conditions": [condition]}),
            subresource="status",
        )
        self._hub.change("clusterqueues", QUEUE, "", _add_check)
        self._hub.store.ledger.listen(self._see)

    def _see(self, collection: "Collection", change: "Change") -> None:
        if collection.kind.plural != "workloads" or collection.kind.alias:
            return
        if _entry(change.new.obj).get("state") == "Pending":
            name = change.new.key[1]
            self._loop.call_later(_SECONDS, self._agree, name, context=self._context)

    def _agree(self, name: str) -> None:
        found = self._hub.find("workloads", name, NAMESPACE)
        if found is not None and _entry(found).get("state") == "Pending":
            self._hub.change("workloads", name, NAMESPACE, _agreed(self._now()), subresource="status")

    def _now(self) -> str:
        return self._hub.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _add_check(queue: "Obj") -> None:
    queue["spec"]["admissionChecksStrategy"]["admissionChecks"].append({"name": _NAME})


def _entry(workload: "Obj") -> "Obj":
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    return next((check for check in checks if check["name"] == _NAME), {})


def _agreed(now: str) -> "Callable[[Obj], None]":
    def change(workload: "Obj") -> None:
        _entry(workload).update(state="Ready", message="within budget", lastTransitionTime=now)

    return change
