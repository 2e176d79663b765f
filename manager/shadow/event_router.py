"""Which Workloads have to be observed in shadow mode after a change."""

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.jobs.kinds import JobKind
from manager.app.cluster_core import ClusterCore
from workerclient.base.kind import ApiKind
from workerclient.objects.connection_report import ConnectionReport, ConnectionState


class ShadowEventRouter:
    """Translates changes of the caches into Workloads to observe."""

    def __init__(self, core: ClusterCore) -> None:
        self._hub = core.hub
        self._fleet = core.fleet
        self._workloads = core.workloads

    def hub_workload(self, key: ObjectKey) -> None:
        """Observe the Workload."""
        self._workloads.add(key)

    def hub_job(self, kind: JobKind, key: ObjectKey) -> None:
        """Ignore jobs, of which none are followed."""

    def check(self, name: str) -> None:
        """Observe the Workloads of a check."""
        self._workloads.add_all(name, lambda: self._hub.workloads_with(name))

    def config(self, name: str) -> None:
        """Observe the Workloads of all checks that use a MultiKueueConfig."""
        for check in self._hub.checks_using(name):
            self.check(check)

    def cluster(self, name: WorkerName) -> None:
        """Look for workers that were added, changed or removed."""
        del name
        self._fleet.poke()

    def source(self) -> None:
        """Reconcile workers that were added, changed or removed."""
        self._fleet.poke()

    def hub_connection(self, report: ConnectionReport) -> None:
        """Observe everything after the hub came back."""
        if report.connection is ConnectionState.CONNECTED:
            self._fleet.poke()
            self.everything()

    def hub_new_history(self, kind: ApiKind) -> None:
        """Ignore that the hub was restored: its objects are reported like any change."""

    def everything(self) -> None:
        """Observe the Workloads of all checks."""
        for check in self._hub.our_checks():
            self.check(check)

    def remote_workload(self, cluster: WorkerName, key: ObjectKey) -> None:
        """Observe the hub Workload of a replica."""
        del cluster
        self._workloads.add(key, urgent=True)

    def remote_job(self, kind: JobKind, key: ObjectKey, named: tuple[ObjectKey, ...]) -> None:
        """Ignore jobs, of which none are followed."""

    def worker_remark(self, name: WorkerName) -> None:
        """Ignore what would change a condition, of which none are written."""

    def worker(self, name: WorkerName) -> None:
        """Observe everything that depends on a worker: it came, went, or is another one now."""
        self._fleet.note_connection(name)
        for check in self._hub.checks_listing(name):
            self.check(check)
