"""One history: hub, workers, daemons and the network between them, in virtual time."""

from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from config.api.meta import Obj
from config.names import CONFIG_API_VERSION, CONFIG_KIND, KUEUE_API_VERSION
from config.sections.settings import Configuration
from localcluster.kueue.profile import CURRENT
from localcluster.sample_queues import CHECK, NAMESPACE, QUEUE, Ties, hub_objects, worker_objects
from manager.app.listeners import Observers
from manager.reconcile.reconciliation import Reconciliation
from tests.simulation.checks import SecondCheck
from tests.simulation.clocks import ProcessClock
from tests.simulation.clusters import PROFILES, SimulatedCluster
from tests.simulation.laws.facts import ORIGIN, is_ours, owner_of
from tests.simulation.loop import SimulatedLoop, context_of
from tests.simulation.moments import Moments
from tests.simulation.plan import Event, Plan
from tests.simulation.processes import SYSTEM, DaemonProcess, Surroundings
from tests.simulation.strays import LOCAL, submit_stray
from tests.simulation.trace import Trace
from tests.simulation.wire import Network
from tests.support.job_builder import job

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from gates.model.actions import Decision

COPIED: Final = ("workloads", "jobs", "leaderworkersets")
"""What daemons create on workers."""
WORKER_CPU: Final = 4
_WORKER_PRIORITIES: Final = {"urgent": 100_000, "background": 10}
"""Of workers' own jobs: those that preempt the hub's, and those that any job of the hub preempts."""
_OCCUPIED_SECONDS: Final = 10_000
"""Longer than any history: who waits for the end of a worker's own job waits in vain."""


@dataclass
class Reached:
    """What a history led to."""

    rules: dict[str, int] = field(default_factory=dict)
    """How often each rule of the decision table was reached."""
    decisions: int = 0


class System:
    """Everything that runs in one history."""

    def __init__(self, plan: Plan, loop: SimulatedLoop) -> None:
        self.plan = plan
        self.loop = loop
        self.seed = str(plan.seed)
        self.trace = Trace(loop.time)
        self.reached = Reached()
        self.network = Network(self.seed, plan.setting.latency)
        self.hub = SimulatedCluster("hub", CURRENT, self.seed)
        self.workers = {
            each.name: SimulatedCluster(each.name, PROFILES[each.kueue], self.seed) for each in plan.setting.workers
        }
        self.context = copy_context()
        """In which things happen from outside."""
        self.abandoned: list[SimulatedCluster] = []
        """Clusters to which no address leads any more."""
        self.names = {each.name: each.name for each in plan.setting.workers}
        """Which cluster each name of a worker leads to."""
        self.moments = Moments(self.names)
        self.hub.store.ledger.listen(self.moments.see_hub)
        for cluster in self.clusters:
            self.join(cluster)
        self.trouble_until = 0.0
        """When the last event is over that has begun or is certain to."""
        self.options: dict[str, Any] = {}
        self.on_decision: list[Callable[[str, Reconciliation], None]] = []
        self.on_unforeseen_end: list[Callable[[str, BaseException | None], None]] = []
        self.daemons = [self._daemon(number) for number in range(1, plan.setting.daemons + 1)]
        self.listed = [each.name for each in plan.setting.workers]
        """The workers of the MultiKueueConfig when no trouble strikes one out."""
        self.on_event: list[Callable[[Event], None]] = []
        self.on_restored: list[Callable[[SimulatedCluster], None]] = []
        self.on_joined: list[Callable[[SimulatedCluster], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._set_up()

    @property
    def clusters(self) -> list[SimulatedCluster]:
        """Return all clusters."""
        return [self.hub, *self.workers.values()]

    def cluster(self, name: str) -> SimulatedCluster:
        """Return the cluster to which a worker's first name leads, or the hub."""
        return self.hub if name == "hub" else self.workers[name]

    def daemon(self, name: str) -> DaemonProcess:
        """Return one of the daemons."""
        return next(daemon for daemon in self.daemons if daemon.name == name)

    def ours(self, cluster: SimulatedCluster, plural: str) -> list[Obj]:
        """Return the objects on a worker that daemons made."""
        return [obj for obj in cluster.all(plural) if is_ours(obj)]

    def hub_workloads(self, job_name: str) -> list[Obj]:
        """Return the Workloads of a job of the hub."""
        return [obj for obj in self.hub.all("workloads") if owner_of(obj) == job_name]

    def note_event(self, event: Event) -> None:
        """Tell everyone who wants to know that something happened from outside."""
        self.trouble_until = max(self.trouble_until, event.at + event.seconds)
        for notice in self.on_event:
            notice(event)

    def note_restored(self, cluster: SimulatedCluster) -> None:
        """Tell that a cluster was set back."""
        for notice in self.on_restored:
            notice(cluster)

    def replace_worker(self, name: str) -> None:
        """Let a worker's address lead to a new, empty cluster."""
        old = self.workers[name]
        new = SimulatedCluster(f"{old.name}'", CURRENT, self.seed, old.url, old.endpoint.token)
        new.token = old.token
        self.furnish(new)
        self.workers[name] = new
        self.abandoned.append(old)
        self.network.cut_watches(old.name)
        self.join(new)
        for notice in self.on_joined:
            notice(new)

    def reload(self, process: DaemonProcess) -> None:
        """Let a daemon read its configuration again, as on SIGHUP."""
        task = self.loop.create_task(self._reload(process), context=context_of(process.process))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reload(self, process: DaemonProcess) -> None:
        if process.daemon is not None:
            apply = await process.daemon.prepare(self.configuration(), self.hub.access)
            await apply()

    def start(self) -> None:
        """Start the daemons."""
        for daemon in self.daemons:
            daemon.start()

    async def end(self) -> None:
        """End everything."""
        for daemon in self.daemons:
            await daemon.end()
        for cluster in (*self.clusters, *self.abandoned):
            await cluster.kueue.stop()

    def configuration(self) -> Configuration:
        """Return what the daemons are configured with."""
        setting = self.plan.setting
        document: Obj = {
            "api_version": CONFIG_API_VERSION,
            "kind": CONFIG_KIND,
            "hub": {"origin": ORIGIN, "namespace": SYSTEM},
            "jobs": {"integrations": ["batch/job", "leaderworkerset.x-k8s.io/leaderworkerset"]},
            "gates": {"single_cluster_preemption_timeout": f"{setting.timeout}s"},
            "dispatcher": {"mode": setting.dispatcher, "step_size": 1, "round_timeout": "30s"},
            "worker_lost_timeout": f"{setting.lost}s",
            "gc_interval": "30s",
            "forecast": {"enabled": setting.forecasts},
            **self.options,
        }
        return Configuration(**document)

    def submit(self, name: str, shape: Obj) -> None:
        """Submit a job to the hub, as a user."""
        builder = job(name).queue(QUEUE).request(cpu=shape["cpu"]).priority_class(shape["priority"])
        builder = builder.runs(shape["runs"]).stops_in(shape["stops"]).with_metadata(namespace=NAMESPACE)
        self.hub.create("jobs", builder.managed_elsewhere().raw, NAMESPACE)

    def submit_stray(self, what: str, name: str) -> None:
        """Submit something to the hub that is not for the workers."""
        submit_stray(self.hub, what, name)

    def occupy(self, cluster: SimulatedCluster, name: str, stop_seconds: int, priority: str, runs: int) -> None:
        """Submit a job of a worker's own, which fills its queue."""
        builder = job(name).queue(QUEUE).request(cpu=WORKER_CPU).priority_class(priority)
        builder = builder.runs(runs).stops_in(stop_seconds).with_metadata(namespace=NAMESPACE)
        cluster.create("jobs", builder.raw, NAMESPACE)

    def list_workers(self, names: list[str]) -> None:
        """Change the MultiKueueConfig."""
        self.hub.change("multikueueconfigs", CHECK, "", lambda found: found["spec"].update(clusters=list(names)))

    def join(self, cluster: SimulatedCluster) -> None:
        """Connect a cluster to the network, under its address."""
        self.network.connect(cluster.url, cluster.endpoint)
        cluster.store.ledger.listen(self.trace.listener(cluster.name))
        if cluster is not self.hub:
            cluster.store.ledger.listen(self.moments.see_worker(cluster.name))

    def _daemon(self, number: int) -> DaemonProcess:
        setting, name = self.plan.setting, f"daemon-{number}"
        machine = "machine" if setting.is_one_machine else f"machine-{number}"
        clock = ProcessClock(self.loop, machine, 1000.0 if setting.is_one_machine else 1000.0 * number)
        around = Surroundings(
            self.seed,
            self.loop,
            self.network,
            self.hub.access,
            self.configuration,
            setting.daemons > 1,
            self._observers,
            lambda process, error: [notice(process, error) for notice in self.on_unforeseen_end].clear(),
        )
        return DaemonProcess(name, clock, around)

    def _observers(self, process: str) -> Observers:
        return Observers(on_reconciliation=lambda done: self._note_decision(process, done))

    def _note_decision(self, process: str, done: Reconciliation) -> None:
        decision: Decision = done.decision
        rule = str(decision.rule)
        self.reached.rules[rule] = self.reached.rules.get(rule, 0) + 1
        self.reached.decisions += 1
        for notice in self.on_decision:
            notice(process, done)
        actions = [type(action).__name__ for step in decision.steps for action in step.actions]
        if actions:
            name = done.group.workload.name
            self.trace.add(process, f"{name}: {rule}: {', '.join(actions)}")

    def _set_up(self) -> None:
        setting = self.plan.setting
        for worker in setting.workers:
            cluster = self.workers[worker.name]
            self.furnish(cluster)
            cluster.clock.offset = timedelta(seconds=worker.skew_seconds)
            if worker.occupied:
                self.occupy(cluster, f"own-{worker.name}", worker.stop_seconds, "background", _OCCUPIED_SECONDS)
        names = [worker.name for worker in setting.workers]
        kubeconfigs = {name: cluster.kubeconfig() for name, cluster in self.workers.items()}
        _create_all(self.hub, [*hub_objects("64", Ties(names, kubeconfigs, SYSTEM)), *LOCAL])
        if setting.second_check:
            SecondCheck(self.hub, self.loop, self.context).set_up()

    def furnish(self, cluster: SimulatedCluster) -> None:
        """Make a worker's queue."""
        for name, value in _WORKER_PRIORITIES.items():
            head = {"apiVersion": KUEUE_API_VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
            _create_all(cluster, [{**head, "value": value}])
        _create_all(cluster, worker_objects(str(WORKER_CPU)))


def _create_all(cluster: SimulatedCluster, objects: list[Obj]) -> None:
    plurals = {each.kind.kind: each.kind.plural for each in cluster.store.ledger.collections.values()}
    for obj in objects:
        cluster.create(plurals[obj["kind"]], obj, obj["metadata"].get("namespace", ""))
