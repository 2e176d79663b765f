"""Everything between the caches and the writes: snapshots, the reconciler, and the writers that carry out actions."""

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from manager.app.cluster_core import ClusterCore
from manager.app.listeners import Observers
from manager.logging.logs import get_log
from manager.metrics.metrics import Metrics
from manager.queueing.action_slots import ActionSlots
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.hub_writer import HubWriter
from manager.reconcile.local_actions import LocalActions
from manager.reconcile.reconciler import Reconciler, WorkloadMemory
from manager.reconcile.removals import Removals
from manager.reconcile.rules import Rules
from manager.reconcile.snapshots import Snapshots
from manager.reconcile.steps import Writers
from manager.reconcile.unlisted import UnlistedWorkers
from manager.reconcile.worker_writer import RemoteNotices, WorkerWriter
from manager.telemetry.metrics_listener import MetricsListener
from manager.telemetry.recent_decisions import RecentDecisions
from workerclient.base.errors import ClusterError, Forbidden


class DecisionLoop:
    """The parts that decide about Workloads, and act."""

    def __init__(
        self,
        core: ClusterCore,
        rules: Rules,
        forecasts: Forecasts | None,
        memory: WorkloadMemory,
        notices: RemoteNotices,
        metrics: Metrics,
        observers: Observers,
    ) -> None:
        self._fleet = core.fleet
        self._metrics = metrics
        clock, removals, unlisted = core.clock, Removals(core.clock), UnlistedWorkers(core.clock)
        self.listener = MetricsListener(metrics)
        self.decisions = RecentDecisions()
        """What was done last."""
        self.slots = ActionSlots(
            clock, core.jitter, core.workloads.add_after, self._note_failure, core.context.on_retry
        )
        self.worker_writer = WorkerWriter(core.hub, core.identity, clock, metrics, notices)
        self.snapshots = Snapshots(
            core.hub,
            core.fleet.links,
            core.lost_workers,
            unlisted,
            self.slots,
            clock,
            core.identity,
            removals,
            forecasts=forecasts,
            windows=memory.windows,
            identities=core.identities,
        )
        local = LocalActions(core.fleet.links, core.lost_workers, unlisted, forecasts)
        self.reconciler = Reconciler(
            core.hub,
            core.fleet.links,
            self.snapshots,
            Writers(HubWriter(core.hub, clock, metrics), self.worker_writer, self.slots, removals, local),
            rules,
            core.workloads,
            memory,
            context=core.context,
            listeners=observers.listeners(forecasts, self.listener, self.decisions),
        )

    def _note_failure(self, key: ObjectKey, cluster: WorkerName, error: Exception) -> None:
        unforeseen = None if isinstance(error, ClusterError) else error
        get_log().warning("action.failed", workload=str(key), worker=cluster, error=str(error), exc_info=unforeseen)
        self._metrics.count_failure(cluster)
        link = self._fleet.links.get(cluster)
        if isinstance(error, Forbidden) and link is not None:
            link.doubt_permissions()
