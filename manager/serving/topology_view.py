"""What the daemon answers about the topologies of a worker: worked out in a thread, on a model of its own."""

from collections.abc import Mapping

from config.api.identifiers import WorkerName
from config.api.meta import Obj
from engine.forecasting.observed import ObservedCluster
from engine.forecasting.topology_room import topology_room
from gates.reports.topology_document import topology_rooms_document
from manager.clusters.worker import WorkerLink
from manager.process.worker_thread import WorkerThread


class TopologyView:
    """Answers what is free and used in the domains of workers."""

    def __init__(self, links: Mapping[WorkerName, WorkerLink], thread: WorkerThread) -> None:
        self._links = links
        self._thread = thread

    async def document(self, worker: WorkerName, *, with_lowest: bool) -> Obj | None:
        """Return the trees of a worker, or why they are not known; None if there is no such worker."""
        link = self._links.get(worker)
        if link is None:
            return None
        observation = link.observation
        if observation is None:
            return {"worker": worker, "problem": "forecasts are switched off (forecast.enabled)", "flavors": []}
        problem = observation.why_silent() or observation.why_topology_unknown()
        if problem:
            return {"worker": worker, "problem": problem, "flavors": []}
        exposure = observation.cluster.expose()

        def made() -> Obj:
            rooms = topology_room(ObservedCluster.of(exposure).model, with_lowest=with_lowest)
            return {"worker": worker, "problem": "", "flavors": topology_rooms_document(rooms)}

        return await self._thread.run(lambda _: made())
