"""Reports a Job whose cost cannot be computed or is invalid: one log line and one Warning Event.

Once per generation of the Job: the Event's name is made of it, so that not even a restart repeats it. Events need a
role of their own; without it one log line says so, and nothing else is missing.
"""

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from config.api.meta import Obj, format_time
from config.names import DOMAIN
from engine.cost.facts import JobFacts
from gates.model.texts import EVENT_LIMIT, cut
from manager.base.kinds import EVENTS
from manager.logging.logs import get_log
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, ClusterError, Forbidden, excerpt
from workerclient.cluster import ClusterClient

if TYPE_CHECKING:
    from workerclient.objects.resource import Resource

COMPONENT: Final = f"{DOMAIN}/cost-controller"
INVALID_COST: Final = "InvalidPreemptionCost"
MODEL_FAILED: Final = "PreemptionCostUnknown"
FOREIGN_BOOST: Final = "PriorityBoostNotOurs"


class Complaints:
    """What was complained about on one cluster."""

    def __init__(self, client: ClusterClient, clock: Clock) -> None:
        self._cluster = client.name
        self._events: Resource[Obj] = client.resource(EVENTS)
        self._clock = clock
        self._said: dict[str, set[tuple[int, str]]] = {}
        """Generations and reasons, by the Job's UID."""
        self._may_write_events = True

    async def complain(self, job: JobFacts, reason: str, message: str) -> None:
        """Say what is wrong with a Job, unless that was said about this generation of it."""
        said = self._said.setdefault(job.uid, set())
        if (job.generation, reason) in said:
            return
        said.add((job.generation, reason))
        text = excerpt(message)
        name = f"{job.namespace}/{job.name}"
        get_log().error("cost.complaint", cluster=self._cluster, job=name, reason=reason, problem=text)
        await self._emit(job, reason, text)

    def forget(self, uid: str) -> None:
        """Drop what is known about a Job that is gone."""
        self._said.pop(uid, None)

    async def _emit(self, job: JobFacts, reason: str, message: str) -> None:
        if not self._may_write_events:
            return
        try:
            await self._events.create(self._event(job, reason, message))
        except AlreadyExists:
            return
        except Forbidden as error:
            self._may_write_events = False
            get_log().warning("event.forbidden", cluster=self._cluster, error=str(error))
        except ClusterError as error:
            get_log().warning("event.lost", cluster=self._cluster, job=f"{job.namespace}/{job.name}", error=str(error))

    def _event(self, job: JobFacts, reason: str, message: str) -> Obj:
        now = format_time(self._clock.now_ns())
        digest = sha256(f"{job.uid}/{job.generation}/{reason}".encode()).hexdigest()[:16]
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{job.name[:200]}.{digest}", "namespace": job.namespace},
            "involvedObject": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "namespace": job.namespace,
                "name": job.name,
                "uid": job.uid,
                "resourceVersion": job.resource_version,
            },
            "type": "Warning",
            "reason": reason,
            "message": cut(message, EVENT_LIMIT),
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
