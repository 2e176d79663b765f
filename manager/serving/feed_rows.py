"""Reads for the live feed what is shown of a Workload that waits."""

from collections.abc import AsyncIterator, Iterable
from typing import Final

from config.api.meta import Obj, ObjectKey, format_time
from gates.model.forecast_documents import victim_document
from gates.reports.attention import workload_attention
from gates.reports.hub_state import HubState, hub_state
from gates.wire.records import HubRecord
from manager.clusters.hub import HubLink
from manager.serving.live_view import LiveView
from manager.serving.pages import Pages
from manager.streaming.live_feed import FeedWorkload
from manager.streaming.threats import Threat

_READS: Final = 20
"""How many replicas are read for one Workload, at most: the pieces are made small enough for that."""
_MOST_VICTIMS: Final = 50
_OVER: Final = frozenset({"Admitted", "Finished"})
_LANE_FIELDS: Final = ("worker", "state", "gate", "asksSince", "opened", "windowEnds", "verdict", "victims")


class FeedRows:
    """Makes rows out of the caches; no decision is made again and no forecast is computed for them."""

    def __init__(self, hub: HubLink, pages: Pages, live: LiveView) -> None:
        self._hub = hub
        self._pages = pages
        self._live = live

    async def keys(self) -> AsyncIterator[Iterable[ObjectKey]]:
        """Yield the names of all Workloads that are not over, in pieces."""
        async for active in self._pages.all_active(reads=_READS):
            yield [record.key for record, _ in active]

    def workload(self, key: ObjectKey) -> FeedWorkload | None:
        """Return a Workload, None if it is gone, over, or none of Turnstile's."""
        record = self._hub.workload(key)
        if not isinstance(record, HubRecord):
            return None
        entry = record.check(self._hub.our_checks())
        state = hub_state(record, entry)
        if entry is None or state.phase == "Finished":
            return None
        if state.phase in _OVER:
            return FeedWorkload(state.phase)
        lanes, more = self._live.lanes(record, entry)
        row, urgency = self._row(record, state, lanes, more), (-record.priority, record.created_ns)
        threats = tuple(self._threats(record, lanes))
        return FeedWorkload(state.phase, row, urgency, workload_attention(str(key), state), threats)

    def _threats(self, record: HubRecord, lanes: list[Obj]) -> Iterable[Threat]:
        """Yield whom the workers that ask to preempt, or may, would preempt."""
        for lane in lanes:
            is_open = lane["gate"] == "Open"
            if lane["verdict"] == "Preempts" and (is_open or lane["gate"] == "Asked"):
                for victim in self._live.victims(record, lane["worker"])[:_MOST_VICTIMS]:
                    yield Threat(lane["worker"], victim_document(victim), is_open)

    def _row(self, record: HubRecord, state: HubState, lanes: list[Obj], more: int) -> Obj:
        return {
            "phase": state.phase,
            "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
            "queue": record.queue,
            "clusterQueue": record.cluster_queue,
            "priority": record.priority,
            "created": format_time(record.created_ns) if record.created_ns else "",
            "message": state.message,
            "lanes": [[lane[name] for name in _LANE_FIELDS] for lane in lanes],
            "moreLanes": more,
        }
