"""How much of its quota each worker uses, from the models that forecasts are made of; nothing is asked of a worker."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from config.api.quantity import format_amount, format_request
from engine.cluster.usage import QuotaUse, UsageSums, queue_usage
from manager.base.batching import batched
from manager.clusters.fleet import Fleet
from manager.models.observation import Observation
from manager.serving.pages import ListPage, PageRequest
from workerclient.base.clock import Clock

_QUEUES_IN_ONE_PIECE: Final = 200
_QUEUES_PER_SECOND: Final = 2_000
_MOST_RESOURCES: Final = 16


class QuotaFollowing(StrEnum):
    """Whether the quota of a worker is known."""

    FOLLOWED = "Followed"
    OFF = "Off"
    """Forecasts are switched off, and nothing else follows quota."""
    FORBIDDEN = "Forbidden"
    """The role deploy/rbac/worker-forecasts.yaml is missing on the worker."""
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class _KnownSums:
    """Sums over all ClusterQueues of a worker, and until when they are shown."""

    observation: Observation
    queues: int
    totals: list[QuotaUse]
    until: float


class WorkerQuotas:
    """Reads the models of workers. Sums are kept for a second per 2,000 ClusterQueues, for all who ask."""

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        self._kept: dict[WorkerName, _KnownSums] = {}

    async def document(self, worker: WorkerName) -> Obj:
        """Return what a worker uses of each resource, over all its ClusterQueues and flavors."""
        observation = self._observation(worker)
        state, message = _following(observation)
        document: Obj = {"state": str(state), "message": message, "clusterQueues": None, "resources": []}
        if observation is not None and state is QuotaFollowing.FOLLOWED:
            sums = await self._sums(worker, observation)
            document["clusterQueues"] = sums.queues
            document["resources"] = [_use(each) for each in sums.totals[:_MOST_RESOURCES]]
        return document

    async def page(self, worker: WorkerName, asked: PageRequest) -> ListPage | None:
        """Return quota and usage of each ClusterQueue of a worker; None if there is no such worker."""
        if worker not in self._fleet.links:
            return None
        observation, found = self._observation(worker), list[Obj]()
        if observation is None or observation.why_silent():
            return ListPage([], None)
        queues = sorted(observation.cluster.model.forest.queues(), key=lambda queue: queue.name)
        after = asked.after.name if asked.after is not None else ""
        left = [queue for queue in queues if queue.name > after]
        for number, queue in enumerate(left):
            about = {"clusterQueue": queue.name, "cohort": queue.parent.name if queue.parent is not None else ""}
            found += [{**about, "active": queue.is_active, "flavor": e.flavor, **_use(e)} for e in queue_usage(queue)]
            if len(found) >= asked.limit:
                return ListPage(found, ObjectKey("", queue.name) if number + 1 < len(left) else None)
            if number % _QUEUES_IN_ONE_PIECE == _QUEUES_IN_ONE_PIECE - 1:
                await self._clock.sleep(0)
        return ListPage(found, None)

    def _observation(self, worker: WorkerName) -> Observation | None:
        link = self._fleet.links.get(worker)
        return link.observation if link is not None else None

    async def _sums(self, worker: WorkerName, observation: Observation) -> _KnownSums:
        kept = self._kept.get(worker)
        if kept is not None and kept.observation is observation and self._clock.monotonic() < kept.until:
            return kept
        self._kept = {name: each for name, each in self._kept.items() if name in self._fleet.links}
        sums, forest = UsageSums(), observation.cluster.model.forest
        queues = forest.queues()
        for cohort in forest.cohorts():
            sums.add_quota(cohort)
        for piece in batched(queues, _QUEUES_IN_ONE_PIECE):
            for queue in piece:
                sums.add_quota(queue)
                sums.add_usage(queue)
            await self._clock.sleep(0)
        until = self._clock.monotonic() + len(queues) / _QUEUES_PER_SECOND
        made = self._kept[worker] = _KnownSums(observation, len(queues), sums.totals(), until)
        return made


def _following(observation: Observation | None) -> tuple[QuotaFollowing, str]:
    if observation is None:
        return QuotaFollowing.OFF, ""
    if observation.is_forbidden:
        return QuotaFollowing.FORBIDDEN, observation.why_silent()
    problem = observation.why_silent()
    return (QuotaFollowing.UNKNOWN, problem) if problem else (QuotaFollowing.FOLLOWED, "")


def _use(each: QuotaUse) -> Obj:
    return {
        "resource": each.resource,
        "nominal": format_amount(each.resource, each.nominal),
        "used": format_request(each.resource, each.used),
        "share": round(each.share, 4) if each.share is not None else None,
    }
