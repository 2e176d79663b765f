"""A hub and its workers on loopback, the daemon on a virtual clock, and the tests in the role of Kueue.

Tests change the clusters through their stores, as Kueue and users would through the API; the daemon under test speaks
HTTPS to them like to any other cluster. Nothing here waits for time: `settled` waits until the daemon knows all that
the clusters hold and has nothing left to do. No story may keep the daemon's loop for long in one piece.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.names import CONFIG_API_VERSION, CONFIG_KIND, ORIGIN_LABEL
from config.sections.settings import Configuration
from gates.decision.decide import decide
from gates.model.actions import Decision
from gates.model.view import WorkloadView
from gates.reports.recording import dumps, loads
from gates.upkeep.leadership import LeaseTimings
from localcluster.access.auth import Allow
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import Partition
from localcluster.kinds.kinds import ServedKind
from manager.app.daemon import Daemon, identify
from manager.app.listeners import Observers
from manager.election.leadership import Elector
from manager.journal.writer import JournaledDecision, JournaledRules
from manager.reconcile.reconciliation import Reconciliation
from manager.telemetry.tracing import Traces
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj, job, workload
from tests.support.clusters import access_to
from tests.support.lag import LagProbe, measured_loop
from tests.support.virtual_time import VirtualClock, let_run, until
from workerclient.base.backoff import Retry
from workerclient.cluster import ClientContext, ClusterClient, WatchedResource
from workerclient.objects.connection_report import ConnectionState

CHECK = "mk"
MOST_DECISIONS = 20
"""How much may be decided about one Workload while no time passes and no object changes on any cluster."""
CONFIG = "workers"
ORIGIN = "hub-under-test"
SYSTEM = "turnstile-system"


def steady() -> float:
    """Make every random delay half as long as it can be."""
    return 0.5


@dataclass
class World:
    """A hub, its workers, and at most one daemon."""

    clock: VirtualClock
    hub: Cluster
    workers: dict[str, Cluster]
    options: Obj = field(default_factory=dict)
    daemon: Daemon | None = None
    decisions: list[tuple[WorkloadView, Decision]] = field(default_factory=list)
    looks: list[Reconciliation] = field(default_factory=list)
    on_look: Callable[[Reconciliation], None] = lambda _: None
    """Called with every decision, before anything follows from it."""
    chases: dict[tuple[str, str], tuple[tuple[float, int], int]] = field(default_factory=dict)
    """For each Workload the last moment, told by time and changes, and how much was decided in it."""
    decision_loop: str = ""
    """The Workload about which decisions chased each other, with the last of them."""
    is_chased: bool = False
    """The test itself has Workloads looked at for no reason."""
    rests: float = 0
    """How often daemons that ended had put a Workload to rest themselves."""
    traces: Traces | None = None
    """Where the next daemon sends traces."""
    retried: list[Retry] = field(default_factory=list)
    """What daemons tried again."""
    lag: LagProbe = field(default_factory=LagProbe)
    """What the daemon takes of the loop in one piece."""
    task: asyncio.Task[None] | None = None
    _voter: ClusterClient | None = None

    def __getitem__(self, name: str) -> Cluster:
        return self.workers[name]

    # --- the daemon

    def configuration(self) -> Configuration:
        document: Obj = {
            "api_version": CONFIG_API_VERSION,
            "kind": CONFIG_KIND,
            "hub": {"origin": ORIGIN, "namespace": SYSTEM},
            "jobs": {"integrations": ["batch/job"]},
            "forecast": {"enabled": False},  # the tests play Kueue by hand, without the queues to forecast from
            **self.options,
        }
        return Configuration(**document)

    async def start(self, *, elects: bool = False) -> Daemon:
        """Start a daemon, alone or as one of several."""
        client_context = ClientContext(self.clock, steady, on_retry=self.retried.append)
        configuration = self.configuration()
        access = access_to(self.hub.local)
        identity = await identify(configuration, access, client_context)
        observers = Observers(
            on_decision=lambda group, decision: self.decisions.append((group, decision)),
            on_reconciliation=self._note_look,
            on_executed=None if self.traces is None else self.traces.note_executed,
        )
        leadership = None
        if elects:
            lease, self._voter = ObjectKey(SYSTEM, "turnstile"), ClusterClient("hub", access, client_context)
            leadership = Elector(self._voter, lease, "the daemon", LeaseTimings(), self.clock, steady)
        self.daemon = Daemon(configuration, access, identity, client_context, observers, leadership)
        self.task = self.lag.create_task(self.daemon.run())
        return self.daemon

    async def stop(self) -> None:
        """End the daemon at once, as a kill does: nothing is finished that was begun."""
        voter, self._voter = self._voter, None
        if voter is not None:
            await voter.close()
        if self.daemon is not None:
            self.rests += self.daemon.metrics.registry.get_sample_value("turnstile_decision_loops_total") or 0
        task, self.task, self.daemon = self.task, None, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]
        self.assert_calm()

    async def connected(self, *names: str) -> None:
        """Wait until the daemon is connected to the hub and these workers, all of them if none is named."""
        wanted = names or tuple(self.workers)
        await self.until(lambda: self._is_connected(wanted))

    def _is_connected(self, names: Iterable[str]) -> bool:
        daemon = self.running_daemon()
        links = daemon.fleet.links
        return daemon.hub.is_connected and all(name in links and links[WorkerName(name)].is_connected for name in names)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that the daemon brings about."""

        def met() -> object:
            if self.task is not None and self.task.done():
                self.task.result()
            self.assert_calm()
            return condition()

        await until(met)

    def _note_look(self, reconciliation: Reconciliation) -> None:
        self.looks.append(reconciliation)
        self.on_look(reconciliation)
        key = (reconciliation.group.workload.namespace, reconciliation.group.workload.name)
        changes = sum(cluster.store.ledger.revision for cluster in (self.hub, *self.workers.values()))
        moment = (self.clock.monotonic(), changes)
        last, decisions = self.chases.get(key, (moment, 0))
        decisions = decisions + 1 if last == moment else 1
        self.chases[key] = (moment, decisions)
        if decisions > MOST_DECISIONS:
            self.decision_loop = (
                f"{key}: {decisions} decisions while nothing happened, the last: {reconciliation.decision}"
            )

    def assert_calm(self) -> None:
        """No decision without effect is made over and over (F2), unless a test has it so."""
        if not self.is_chased:
            assert not self.decision_loop, self.decision_loop
            assert not self.rests, "the daemon itself noticed that decisions chase each other"

    async def settled(self) -> None:
        """Wait until the daemon knows what its clusters hold and has nothing left to do."""
        await self.until(self.is_settled)

    async def settled_in_time(self) -> None:
        """Let as much time pass as the daemon needs to have nothing left to do: it may have spent its requests."""
        await self.pass_until(self.is_settled)

    async def pass_time(self, seconds: float, *, settle: bool = True) -> None:
        """Let time pass in steps short enough for watches to be answered on the way."""
        while seconds > 0:
            step = min(seconds, 30.0)
            await self.clock.advance(step)
            seconds -= step
            await self.caught_up(wait=settle)
        if settle:
            await self.settled()

    async def cut(self, name: str, how: Partition = Partition.REFUSED) -> None:
        """Make a worker unreachable and let as much time pass as the daemon needs to notice."""
        await self.workers[name].local.partition(how)
        await self.pass_until(lambda: not self._is_connected((name,)))
        await self.pass_until(self.is_settled)

    async def mend(self, name: str) -> None:
        """Make a worker reachable and let as much time pass as the daemon needs to come back to it."""
        await self.workers[name].local.heal()
        await self.pass_until(lambda: self._is_connected((name,)))
        await self.pass_until(self.is_settled)

    async def known(self, *names: str) -> None:
        """Let time pass until the daemon knows of these workers whether they are there."""
        await self.pass_until(lambda: set(names) <= set(self.running_daemon().fleet.health()))
        await self.pass_until(self.is_settled)

    async def pass_until(self, condition: Callable[[], object]) -> None:
        async def pass_time() -> None:
            while not condition():
                await self.clock.advance(0.1)
                await asyncio.sleep(0.001)

        await asyncio.wait_for(pass_time(), 120)

    def running_actions(self) -> int:
        """Return how many actions are on their way."""
        return self.running_daemon().slots.in_flight

    def look_after(self, seconds: float, name: str = "wl") -> None:
        """Let the daemon look at a Workload after so long, whatever else it has in mind."""
        self.running_daemon().workloads.add_after(ObjectKey(NAMESPACE, name), seconds)

    def lost_for(self, name: str) -> float:
        """Return for how many seconds a worker has been unreachable."""
        since = self.running_daemon().fleet.links[WorkerName(name)].report.lost_since_ns
        assert since is not None
        return (self.clock.now_ns() - since) / 1e9

    async def caught_up(self, *, wait: bool) -> None:
        await let_run()
        if wait:
            await self.until(lambda: self.running_daemon().workloads.is_idle)
        else:
            await asyncio.sleep(0.01)

    def running_daemon(self) -> Daemon:
        assert self.daemon is not None
        return self.daemon

    def is_settled(self) -> bool:
        daemon = self.daemon
        if daemon is None or self.task is None or self.task.done():
            return False
        if not (daemon.hub.is_connected and daemon.workloads.is_idle and daemon.conditions.is_idle):
            return False
        if daemon.slots.in_flight:
            return False
        followed: list[WatchedResource[Any]] = [
            daemon.hub.checks,
            daemon.hub.configs,
            daemon.hub.clusters,
            daemon.hub.workloads,
            *daemon.hub.jobs.values(),
        ]
        if not all(_in_step(self.hub, each, "") for each in followed):
            return False
        for name, link in daemon.fleet.links.items():
            if link.report.connection is ConnectionState.CONNECTED and name in self.workers and link.refusal is None:
                if not link.is_connected:
                    return False
                kinds: list[WatchedResource[Any]] = [link.workloads, *link.jobs.values()]
                if not all(_in_step(self.workers[name], each, ORIGIN) for each in kinds):
                    return False
        return True

    # --- the hub's objects

    def list_workers(self, *names: str) -> None:
        """Create or change the MultiKueueConfig."""
        clusters = list(names)
        if self.hub.find("multikueueconfigs", CONFIG, KUEUE, "") is None:
            document = {"metadata": {"name": CONFIG}, "spec": {"clusters": clusters}}
            self.hub.create("multikueueconfigs", document, KUEUE)
            return
        self.hub.change("multikueueconfigs", CONFIG, lambda c: c["spec"].update(clusters=clusters), KUEUE, "")

    def add_cluster(self, name: str, secret: str | None = None) -> None:
        """Create a MultiKueueCluster with its kubeconfig Secret."""
        self.put_secret(name)
        source = {"kubeConfig": {"location": secret or name, "locationType": "Secret"}}
        document = {"metadata": {"name": name}, "spec": {"clusterSource": source}}
        self.hub.create("multikueueclusters", document, KUEUE)

    def put_secret(self, name: str, content: bytes | None = None) -> None:
        raw = content if content is not None else self.workers[name].kubeconfig()
        data = {"kubeconfig": base64.b64encode(raw).decode()}
        if self.hub.find("secrets", name, namespace=SYSTEM) is not None:
            self.hub.change("secrets", name, lambda s: s.update(data=data), namespace=SYSTEM)
            return
        self.hub.create("secrets", {"metadata": {"name": name}, "data": data}, namespace=SYSTEM)

    def submit(self, name: str = "wl", owner: Obj | None = None, *, check: str = CHECK, **spec: Any) -> Obj:
        """Create a job with its Workload, without quota."""
        if owner is None:
            owner = self.hub.create("jobs", job(f"job-{name}"), "batch", NAMESPACE)
        self.hub.create("workloads", workload(name, owner, **spec), KUEUE, NAMESPACE)
        return self.give_check(name, check)

    def submit_ownerless(self, name: str = "wl", **spec: Any) -> Obj:
        self.hub.create("workloads", workload(name, **spec), KUEUE, NAMESPACE)
        return self.give_check(name)

    def give_check(self, name: str, check: str = CHECK, state: str = "Pending") -> Obj:
        """Let hub Kueue add an admission check to a Workload."""
        entry = {"name": check, "state": state, "message": "", "lastTransitionTime": self.hub.now()}

        def change(status: Obj) -> None:
            others = [e for e in status.get("admissionChecks", []) if e["name"] != check]
            status["admissionChecks"] = [*others, entry]

        return self.hub.set_status(name, change)

    def queue(self, name: str = "wl", **spec: Any) -> Obj:
        """Submit a job and let the hub reserve quota for it."""
        self.submit(name, **spec)
        self.hub.reserve(name)
        return self.hub.workload(name)

    def check(self, name: str = "wl", check: str = CHECK) -> Obj:
        entries = self.hub.workload(name)["status"]["admissionChecks"]
        return next(e for e in entries if e["name"] == check)

    def status(self, name: str = "wl") -> Obj:
        status: Obj = self.hub.workload(name)["status"]
        return status

    def evict_on_hub(self, name: str = "wl", message: str = "Preempted to accommodate a workload") -> None:
        """Evict on the hub, as Kueue does: the check goes back to Pending and the cluster is forgotten."""
        self.hub.set_condition(name, "Evicted", reason="Preempted", message=message)

        def change(status: Obj) -> None:
            status.pop("clusterName", None)
            status.pop("nominatedClusterNames", None)
            for entry in status["admissionChecks"]:
                entry.update(
                    state="Pending", message="Reset to Pending after eviction", lastTransitionTime=self.hub.now()
                )

        self.hub.set_status(name, change)

    def release_quota(self, name: str = "wl") -> None:
        """Let the hub take the quota back once the job stopped."""

        def change(status: Obj) -> None:
            status.pop("admission", None)
            gone = ("QuotaReserved", "Admitted")
            status["conditions"] = [c for c in status["conditions"] if c["type"] not in gone]

        self.hub.set_status(name, change)

    def requeue(self, name: str = "wl") -> None:
        """Let the hub reserve quota again after an eviction."""
        self.hub.set_condition(name, "Evicted", status="False", reason="QuotaReserved")
        self.hub.reserve(name)

    def events(self) -> list[Obj]:
        return self.hub.store.list(self.hub.store.kind("events"), NAMESPACE)

    def holders(self, name: str = "wl") -> list[str]:
        """Return the workers that hold a replica."""
        return [each for each, cluster in self.workers.items() if cluster.has_workload(name)]


def _in_step(cluster: Cluster, followed: WatchedResource[Any], origin: str) -> bool:
    """Return whether a cache holds exactly what its cluster holds."""
    kind = followed.resource.kind
    try:
        stored = cluster.store.list(cluster.store.kind(kind.plural, kind.group))
    except KeyError:
        return True
    wanted = {
        (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj["metadata"]["resourceVersion"]
        for obj in stored
        if not origin or obj["metadata"].get("labels", {}).get(ORIGIN_LABEL) == origin
    }
    known = {}
    for key in followed.cache:
        identity = followed.cache.identity(key)
        known[(key.namespace, key.name)] = identity.resource_version if identity else ""
    return wanted == known


def assert_replays(looks: Iterable[Reconciliation]) -> None:
    """Every decision of every story is made again alike from what a journal keeps of it."""
    for look in looks:
        body = JournaledDecision(look.now_ns, look.group, look.decision)
        kept = loads(JournaledDecision, dumps(body))
        rules = loads(JournaledRules, dumps(JournaledRules(look.settings, look.policies)))
        assert kept == body
        assert decide(kept.group, kept.now_ns, rules.settings, rules.policies) == look.decision


@asynccontextmanager
async def world(directory: Path, *names: str, **options: Any) -> AsyncIterator[World]:
    """Run a hub and workers as `_world` does; what the daemon does meanwhile never keeps the loop for long."""
    with measured_loop():
        async with _world(directory, *names, **options) as made:
            yield made
            made.lag.check()


@asynccontextmanager
async def _world(
    directory: Path,
    *names: str,
    kinds: dict[str, tuple[ServedKind, ...]] | None = None,
    limited: dict[str, tuple[Allow, ...]] | None = None,
    prepared: bool = True,
    **options: Any,
) -> AsyncIterator[World]:
    """Run a hub and workers; `prepared` makes the check, its configuration and the clusters."""
    clock = VirtualClock()
    hub = Cluster("hub", directory, clock, (kinds or {}).get("hub", all_kinds()))
    workers = {
        name: Cluster(name, directory, clock, (kinds or {}).get(name, all_kinds()), (limited or {}).get(name))
        for name in names
    }
    for worker in workers.values():
        worker.shows_gates = True
    made = World(clock, hub, workers, options)
    clusters = [hub, *workers.values()]
    try:
        async with asyncio.TaskGroup() as group:
            for cluster in clusters:
                group.create_task(cluster.local.start())
        for cluster in clusters:
            cluster.create("namespaces", {"metadata": {"name": NAMESPACE}})
        hub.create("namespaces", {"metadata": {"name": SYSTEM}})
        if prepared:
            parameters = {"apiGroup": KUEUE, "kind": "MultiKueueConfig", "name": CONFIG}
            controller = options.get("hub", {}).get("controller_name", "multikueue-turnstile.dev/orchestrator")
            spec = {"controllerName": controller, "parameters": parameters}
            hub.create("admissionchecks", {"metadata": {"name": CHECK}, "spec": spec}, KUEUE)
            if names:
                made.list_workers(*names)
            for name in names:
                made.add_cluster(name)
        yield made
        assert_replays(made.looks)
    finally:
        try:
            await made.stop()
        finally:
            for cluster in clusters:
                await cluster.local.stop()


@asynccontextmanager
async def running(directory: Path, *names: str, **options: Any) -> AsyncIterator[World]:
    """Run a hub, workers and a daemon that is connected to all of them."""
    async with world(directory, *names, **options) as made:
        await made.start()
        await made.connected()
        await made.settled()
        yield made
