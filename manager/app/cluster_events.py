"""The changes that the connections report, each an event to which handlers subscribe.

The connections are made with the events, and the handlers with the connections; so nothing is made with a part that
does not exist yet.
"""

from collections.abc import Callable
from typing import Generic, ParamSpec, Protocol

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.jobs.kinds import JobKind
from manager.clusters.hub import HubNotices
from manager.clusters.worker_context import Notices
from workerclient.base.kind import ApiKind
from workerclient.objects.connection_report import ConnectionReport

P = ParamSpec("P")


class ClusterEvent(Generic[P]):
    """One kind of change; calling it calls its handlers, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._handlers: list[Callable[P, None]] = []

    def subscribe(self, handler: Callable[P, None]) -> None:
        """Call a handler from now on; it has to return at once."""
        self._handlers.append(handler)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Report a change."""
        for handler in self._handlers:
            handler(*args, **kwargs)


class ClusterEventHandler(Protocol):
    """Handles all kinds of changes."""

    def hub_workload(self, key: ObjectKey) -> None:
        """Handle a changed Workload of the hub."""
        ...

    def hub_job(self, kind: JobKind, key: ObjectKey) -> None:
        """Handle a changed job of the hub."""
        ...

    def check(self, name: str) -> None:
        """Handle a changed AdmissionCheck."""
        ...

    def config(self, name: str) -> None:
        """Handle a changed MultiKueueConfig."""
        ...

    def cluster(self, name: WorkerName) -> None:
        """Handle a changed MultiKueueCluster."""
        ...

    def source(self) -> None:
        """Handle a changed Secret or ClusterProfile, which may hold a kubeconfig."""
        ...

    def hub_connection(self, report: ConnectionReport) -> None:
        """Handle that the hub was connected or lost."""
        ...

    def hub_new_history(self, kind: ApiKind) -> None:
        """Handle that the hub was restored to an earlier state."""
        ...

    def remote_workload(self, cluster: WorkerName, key: ObjectKey) -> None:
        """Handle a changed replica, or news about its forecast."""
        ...

    def remote_job(self, kind: JobKind, key: ObjectKey, named: tuple[ObjectKey, ...]) -> None:
        """Handle a changed job of a worker, which names these Workloads."""
        ...

    def worker(self, name: WorkerName) -> None:
        """Handle that a worker came, changed or went."""
        ...

    def worker_remark(self, name: WorkerName) -> None:
        """Handle that there is something else to say about a worker, which changes nothing for its Workloads."""
        ...


class ClusterEvents:
    """The events of the hub and of all workers."""

    def __init__(self) -> None:
        self.hub_workload: ClusterEvent[[ObjectKey]] = ClusterEvent()
        self.hub_job: ClusterEvent[[JobKind, ObjectKey]] = ClusterEvent()
        self.check: ClusterEvent[[str]] = ClusterEvent()
        self.config: ClusterEvent[[str]] = ClusterEvent()
        self.cluster: ClusterEvent[[WorkerName]] = ClusterEvent()
        self.source: ClusterEvent[[]] = ClusterEvent()
        self.hub_connection: ClusterEvent[[ConnectionReport]] = ClusterEvent()
        self.hub_new_history: ClusterEvent[[ApiKind]] = ClusterEvent()
        self.remote_workload: ClusterEvent[[WorkerName, ObjectKey]] = ClusterEvent()
        self.remote_job: ClusterEvent[[JobKind, ObjectKey, tuple[ObjectKey, ...]]] = ClusterEvent()
        self.worker_connection: ClusterEvent[[WorkerName]] = ClusterEvent()
        """A worker was connected or lost."""
        self.worker_remark: ClusterEvent[[WorkerName]] = ClusterEvent()
        """What a worker's condition says changed, and nothing else."""
        self.worker_changed: ClusterEvent[[WorkerName]] = ClusterEvent()
        """A worker was added, refused or removed, or is another cluster."""

    def subscribe(self, handler: ClusterEventHandler) -> None:
        """Call a handler for every event from now on."""
        self.hub_workload.subscribe(handler.hub_workload)
        self.hub_job.subscribe(handler.hub_job)
        self.check.subscribe(handler.check)
        self.config.subscribe(handler.config)
        self.cluster.subscribe(handler.cluster)
        self.source.subscribe(handler.source)
        self.hub_connection.subscribe(handler.hub_connection)
        self.hub_new_history.subscribe(handler.hub_new_history)
        self.remote_workload.subscribe(handler.remote_workload)
        self.remote_job.subscribe(handler.remote_job)
        self.worker_connection.subscribe(handler.worker)
        self.worker_remark.subscribe(handler.worker_remark)
        self.worker_changed.subscribe(handler.worker)

    def subscribe_viewers(self, on_workload: Callable[[ObjectKey], None], on_worker: Callable[[], None]) -> None:
        """Call handlers that show what changed: a Workload anywhere, or a worker."""
        self.hub_workload.subscribe(on_workload)
        self.remote_workload.subscribe(lambda _worker, key: on_workload(key))
        self.worker_connection.subscribe(lambda _worker: on_worker())
        self.worker_changed.subscribe(lambda _worker: on_worker())

    def of_hub(self) -> HubNotices:
        """Return what the connection to the hub reports to."""
        return HubNotices(
            on_workload=self.hub_workload,
            on_job=self.hub_job,
            on_check=self.check,
            on_config=self.config,
            on_cluster=self.cluster,
            on_source=self.source,
            on_connection=self.hub_connection,
            on_new_history=self.hub_new_history,
        )

    def of_workers(self) -> Notices:
        """Return what the connections to workers report to."""
        return Notices(self.remote_workload, self.remote_job, self.worker_connection, self.worker_remark)
