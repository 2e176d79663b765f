"""The workers as the running daemon knows them: from its watches, so that a plan asks no worker anything."""

from collections.abc import Mapping, Sequence

from config.api.identifiers import WorkerName
from gates.jobs.kinds import JobKind
from manager.clusters.worker import WorkerLink
from manager.planning.planner import PlanningView
from manager.reconcile.forecasts import Forecasts
from workerclient.objects.connection_report import ConnectionState


class LiveWorkers:
    """Shows the daemon's models."""

    def __init__(
        self, links: Mapping[WorkerName, WorkerLink], kinds: Mapping[str, JobKind], forecasts: Forecasts | None
    ) -> None:
        self._links = links
        self._kinds = kinds
        self._forecasts = forecasts

    async def sights(self, names: Sequence[WorkerName]) -> Mapping[WorkerName, PlanningView]:
        """Return the models of workers, as far as they are complete."""
        return {name: self._sight(name) for name in names}

    def _sight(self, name: WorkerName) -> PlanningView:
        link = self._links.get(name)
        if link is None:
            return PlanningView(None, "the daemon has no connection to it; `turnstile doctor` says why")
        if link.report.connection is ConnectionState.LOST:
            return PlanningView(None, link.report.message)
        if self._forecasts is None or link.observation is None:
            return PlanningView(None, "forecasts are switched off (forecast.enabled)")
        problem = link.observation.why_silent()
        if problem:
            return PlanningView(None, problem)
        return PlanningView(
            link.observation.cluster,
            promised=tuple(link.observation.promises.outstanding()),
            skew_ns=link.clock_skew_ns,
            reliable=self._forecasts.history.is_reliable(name),
            unserved=frozenset(gvk for gvk, kind in self._kinds.items() if not link.serves(kind)),
            pods=None if link.pods is None else link.pods.foresee,
            gates=link.gates.verdict,
            most_pod_sets=link.kueue.found.schema.most_pod_sets,
        )
