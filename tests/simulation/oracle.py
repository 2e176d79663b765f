"""Judges a history while it happens: hands what is seen to the laws, and collects what they object to."""

from typing import TYPE_CHECKING

from gates.model.actions import OpenGate
from localcluster.store.ledger import Change, ChangeType, Collection
from manager.reconcile.reconciliation import Reconciliation
from tests.simulation.clusters import SimulatedCluster
from tests.simulation.laws.facts import Seen, Troubles, Violation, holds, hub_uid, is_ours
from tests.simulation.laws.forecasts import ForecastLaws
from tests.simulation.laws.openings import OpeningLaws
from tests.simulation.laws.running import RunningLaws
from tests.simulation.laws.writes import WriteLaws
from tests.simulation.processes import LEASE, SYSTEM
from tests.simulation.strays import is_stray
from tests.simulation.system import COPIED, System
from tests.simulation.wire import AUTHOR

if TYPE_CHECKING:
    from collections.abc import Callable

from config.api.meta import Obj

MOST_DECISIONS = 100
"""How many decisions about one Workload may be made in one second."""
MOST_TASKS = 300
"""For each daemon, with the requests of its that are on their way."""
MOST_WATCHES = 20
"""For each daemon and cluster."""


class Oracle:
    """The judge of one history."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.violations: list[Violation] = []
        setting = system.plan.setting
        troubles = Troubles(setting.lost)
        system.on_event.append(troubles.note)
        ungated = {each.name for each in setting.workers if each.kueue == "before-gates"}
        self.openings = OpeningLaws(setting.timeout, ungated, troubles, self.violate)
        self.forecasts = ForecastLaws(self.violate)
        self._running = RunningLaws(troubles, self.violate)
        self._writes = WriteLaws(troubles, elects=setting.daemons > 1, holder=self._holder, violate=self.violate)
        self._decisions: dict[tuple[str, str, int], int] = {}
        self._see_hub: dict[str, Callable[[Seen], None]] = {
            "workloads": self._see_hub_workload,
            "jobs": self._running.see_hub,
        }
        for cluster in system.clusters:
            self._join(cluster)
        system.on_joined.append(self._join)
        system.on_restored.append(self._restored)
        system.on_decision.append(self._note_decision)
        system.on_unforeseen_end.append(self._note_end)
        system.network.on_sent.append(
            lambda process, cluster, request: self._writes.see_request(process, cluster, request, system.loop.time())
        )

    def violate(self, law: str, text: str) -> None:
        """Note that a law did not hold."""
        violation = Violation(law, self._system.loop.time(), text)
        self._system.trace.add("VIOLATION", f"{law}: {text}")
        self.violations.append(violation)

    def look(self) -> None:
        """Judge what has to be looked at from time to time."""
        system = self._system
        replicas = {cluster.name: system.ours(cluster, "workloads") for cluster in system.workers.values()}
        workloads = system.hub.all("workloads")
        self._running.look(system.loop.time(), workloads, replicas)
        self.openings.look(system.loop.time(), workloads, replicas)

    def unfinished(self) -> list[str]:
        """Return what is left to be done: jobs that have not ended, and objects on workers that nothing needs."""
        system = self._system
        left = [
            f"job {each['metadata']['name']} has not ended"
            for each in system.hub.all("jobs")
            if not holds(each, "Complete") and not self._lost_its_end(each) and not is_stray(each)
        ]
        needed = {str(each["metadata"]["uid"]) for each in system.hub.all("jobs") if not holds(each, "Complete")}
        needed |= {str(each["metadata"]["uid"]) for each in system.hub.all("workloads") if not holds(each, "Finished")}
        needed |= {str(each["metadata"]["uid"]) for each in system.hub.all("leaderworkersets")}
        for cluster in system.workers.values():
            for plural in COPIED:
                left += [
                    f"{plural}/{each['metadata']['name']} is left on {cluster.name}"
                    for each in system.ours(cluster, plural)
                    if hub_uid(each) not in needed
                ]
        return left

    def _lost_its_end(self, job: Obj) -> bool:
        """Tell whether an operator deleted the copy of a job before its end was copied; its Workload has ended then."""
        is_meddled = any(event.kind == "copy is deleted" for event in self._system.plan.events)
        workloads = self._system.hub_workloads(job["metadata"]["name"])
        return is_meddled and any(holds(workload, "Finished") for workload in workloads)

    def finish(self, tasks: int) -> None:
        """Judge the end of a history in which all trouble is long over."""
        for left in self.unfinished():
            self.violate("progress" if "has not ended" in left else "no orphans", left)
        if tasks > MOST_TASKS * len(self._system.daemons):
            self.violate("bounded tasks", f"{tasks} tasks at the end")
        watches = len(self._system.network.streams)
        if watches > MOST_WATCHES * len(self._system.daemons) * len(self._system.names):
            self.violate("bounded tasks", f"{watches} watches at the end")

    def _join(self, cluster: SimulatedCluster) -> None:
        is_hub = cluster is self._system.hub
        see = self._see_on_hub if is_hub else self._see_on_worker

        def note(collection: Collection, change: Change) -> None:
            if collection.kind.alias is None:
                new = None if change.type is ChangeType.DELETED else change.new.obj
                old = None if change.old is None else change.old.obj
                plural, name, now = collection.kind.plural, change.new.key[1], self._system.loop.time()
                see(Seen(cluster.name, plural, name, old, new, AUTHOR.get(), now))

        cluster.store.ledger.listen(note)

    def _see_on_hub(self, seen: Seen) -> None:
        self._writes.see_hub(seen)
        see = self._see_hub.get(seen.plural)
        if see is not None:
            see(seen)

    def _see_hub_workload(self, seen: Seen) -> None:
        self.openings.see_hub(seen)
        self.forecasts.see_hub(seen, self._system.names)

    def _see_on_worker(self, seen: Seen) -> None:
        self._writes.see_worker(seen)
        if seen.plural == "workloads":
            self.forecasts.see_worker(seen)
        if not is_ours(seen.obj):
            return
        if seen.plural == "workloads":
            names = [name for name, cluster in self._system.names.items() if cluster == seen.cluster.rstrip("'")]
            self.openings.see_worker(seen, names)
        elif seen.plural in COPIED:
            self._running.see_worker(seen)

    def _restored(self, cluster: SimulatedCluster) -> None:
        self.openings.forget(cluster.name, self._system.loop.time())
        self._running.forget(cluster.name)
        for plural in COPIED if cluster is not self._system.hub else ():
            for obj in self._system.ours(cluster, plural):
                name, now = obj["metadata"]["name"], self._system.loop.time()
                self._see_on_worker(Seen(cluster.name, plural, name, None, obj, "etcd", now))

    def _holder(self) -> str:
        lease = self._system.hub.find("leases", LEASE.name, SYSTEM)
        return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")

    def _note_decision(self, process: str, done: Reconciliation) -> None:
        actions = [action for step in done.decision.steps for action in step.actions]
        opened = [str(action.cluster) for action in actions if isinstance(action, OpenGate)]
        self.openings.note_decision(process, opened, self._system.loop.time())
        key = (process, done.group.workload.name, int(self._system.loop.time()))
        self._decisions[key] = self._decisions.get(key, 0) + 1
        if self._decisions[key] == MOST_DECISIONS:
            self.violate("bounded decisions", f"{key[1]}: {MOST_DECISIONS} decisions of {process} within a second")

    def _note_end(self, process: str, error: BaseException | None) -> None:
        self.violate("daemons stay", f"{process} ended: {error!r}")
