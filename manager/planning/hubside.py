"""What a plan has to know from the hub: where a LocalQueue leads, and how important a job is. A few reads, no more."""

from collections.abc import Callable
from typing import Any

from config.api.meta import Obj, ObjectKey
from gates.model.activity import ConfigRecord, check_record, config_record
from gates.planning.documents import Route
from gates.planning.wanted import POD_CLASSES, Wanted
from manager.base.kinds import ADMISSION_CHECKS, CLUSTER_QUEUES, CONFIGS, LOCAL_QUEUES, PRIORITY_CLASSES
from manager.planning.errors import PlanError
from workerclient.base.errors import NotFound
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient


class HubSide:
    """Reads the hub."""

    def __init__(
        self, client: ClusterClient, controller_name: str, resolve: Callable[[ConfigRecord], ConfigRecord]
    ) -> None:
        """`resolve` returns a MultiKueueConfig with the clusters that it leads to."""
        self._client = client
        self._controller_name = controller_name
        self._resolve = resolve

    async def route(self, wanted: Wanted) -> Route:
        """Return the workers that a job's LocalQueue leads to; raises `PlanError` if it leads to none."""
        place = f"{wanted.namespace}/{wanted.queue}"
        queue = await self._needed(LOCAL_QUEUES, ObjectKey(wanted.namespace, wanted.queue))
        name = str((queue.get("spec") or {}).get("clusterQueue") or "")
        cluster_queue = await self._needed(CLUSTER_QUEUES, ObjectKey("", name))
        for check_name in checks_of(cluster_queue):
            check = check_record(dict(await self._needed(ADMISSION_CHECKS, ObjectKey("", check_name))))
            if check.controller_name != self._controller_name:
                continue
            if check.problem:
                raise PlanError(f'AdmissionCheck "{check_name}" leads nowhere: {check.problem}')
            config = self._resolve(config_record(dict(await self._needed(CONFIGS, ObjectKey("", check.config)))))
            if config.problem:
                raise PlanError(f'MultiKueueConfig "{config.name}" leads nowhere: {config.problem}')
            return Route(name, check_name, check.config, config.clusters)
        raise PlanError(
            f'LocalQueue "{place}" leads to ClusterQueue "{name}", which has no AdmissionCheck with controllerName '
            f"{self._controller_name}: a job there runs on the hub itself"
        )

    async def priority(self, wanted: Wanted) -> int:
        """Return the priority that the hub gives to a job."""
        if wanted.priority is not None:
            return wanted.priority
        named = wanted.priority_class
        if named is not None and named.name:
            kind = PRIORITY_CLASSES.get(named.group)
            if kind is None:
                allowed = ", ".join(PRIORITY_CLASSES)
                raise PlanError(f'spec.priorityClassRef.group "{named.group}" is not allowed: must be one of {allowed}')
            return int((await self._needed(kind, ObjectKey("", named.name))).get("value") or 0)
        if wanted.kind == "Workload":
            return 0
        return await self._default_priority()

    async def _default_priority(self) -> int:
        async for page in self._client.resource(PRIORITY_CLASSES[POD_CLASSES]).pages():
            for _, each in page.items:
                if each.get("globalDefault") is True:
                    return int(each.get("value") or 0)
        return 0

    async def _needed(self, kind: ApiKind, key: ObjectKey) -> Obj:
        try:
            return await self._client.resource(kind).get(key)
        except NotFound:
            raise PlanError(f'there is no {kind.kind} "{key}" on the hub') from None


def checks_of(cluster_queue: dict[str, Any]) -> list[str]:
    """Return the AdmissionChecks of a ClusterQueue, in its order."""
    strategy = (cluster_queue.get("spec") or {}).get("admissionChecksStrategy") or {}
    return [str(each.get("name")) for each in strategy.get("admissionChecks") or ()]
