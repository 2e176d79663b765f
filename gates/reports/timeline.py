"""What happened to one Workload, in order: from the hub's object, and from the recorded decisions where there are any.

Pure. Objects keep times in whole seconds. When within its second something happened is told by the first decision that
knew of it: it was before what that decision did, and after what earlier ones did. Times in the result never decrease.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from config.api.meta import NANOSECONDS
from gates.reports.timeline_events import (
    Recorded,
    TimelineEvent,
    TimelineEventKind,
    decided_events,
    events_of_hub,
    observed_events,
    victim_event,
)
from gates.wire.records import HubRecord

if TYPE_CHECKING:
    from config.api.identifiers import WorkerName
    from engine.forecasting.verification import Evicted

_RANKS: Final = {what: place for place, what in enumerate(TimelineEventKind)}
_LAST_OF_SECOND: Final = NANOSECONDS - 1
_NOT_LOST: Final = frozenset({"WorkloadDeleted", "WorkloadFinished", "QuotaReleased"})
"""Reasons of removals that follow the end of an attempt, as those of losers do not."""


@dataclass(frozen=True, slots=True)
class _Account:
    """An event, and the decision that first knew of it."""

    event: TimelineEvent
    known_ns: int | None = None
    """When that decision was made; None for what only the hub's object says."""

    @property
    def latest_ns(self) -> int | None:
        """Return the latest moment at which it may have happened, None if only its second is known."""
        if not self.event.stamp:
            return self.event.at_ns
        if self.known_ns is None:
            return None
        return min(self.known_ns, self.event.at_ns + _LAST_OF_SECOND)


class Chronicle:
    """Puts together what happened from decisions that come newest first; of each it keeps only what is shown."""

    def __init__(self, uid: str = "") -> None:
        """Cover the Workload with this UID; without it, the one that the newest decision is about."""
        self.uid = uid
        self._accounts: dict[tuple[str, str, str], _Account] = {}
        self._victims: dict[tuple[WorkerName, str], tuple[int, Evicted]] = {}

    def add(self, recorded: Recorded) -> None:
        """Take the next older decision; one about an earlier Workload of the same name is left out."""
        uid = recorded.group.workload.uid
        self.uid = self.uid or uid
        if uid != self.uid:
            return
        for event in (*observed_events(recorded), *decided_events(recorded)):
            self._accounts[event.identity] = _Account(event, recorded.at_ns)
        for worker in recorded.group.workers:
            for evicted in worker.witness.evicted if worker.witness is not None else ():
                self._victims[worker.name, evicted.uid] = (recorded.at_ns, evicted)

    def events(self, hub: HubRecord | None) -> list[TimelineEvent]:
        """Return what happened, oldest first; decisions know more than the hub's object, None if that is gone."""
        told = dict(self._accounts)
        for account in self._victim_accounts():
            told[account.event.identity] = account
        for event in events_of_hub(hub) if hub is not None else ():
            told.setdefault(event.identity, _Account(event))
        return _in_order(list(told.values()))

    def _victim_accounts(self) -> list[_Account]:
        """Report each victim once, at the decision that first saw it evicted."""
        found: dict[tuple[int, WorkerName], list[Evicted]] = {}
        for (cluster, _), (at_ns, victim) in self._victims.items():
            found.setdefault((at_ns, cluster), []).append(victim)
        return [_Account(victim_event(at_ns, cluster, victims), at_ns) for (at_ns, cluster), victims in found.items()]


def timeline(hub: HubRecord | None, decisions: Iterable[Recorded]) -> list[TimelineEvent]:
    """Return what happened, oldest first, from decisions that come newest first; `hub` is None for one that is gone."""
    chronicle = Chronicle(hub.uid if hub is not None else "")
    for recorded in decisions:
        chronicle.add(recorded)
    return chronicle.events(hub)


def _in_order(accounts: Sequence[_Account]) -> list[TimelineEvent]:
    placed = [(latest_ns, account) for account in accounts if (latest_ns := account.latest_ns) is not None]
    for account in accounts:
        if account.latest_ns is None:
            placed.append((_within_second(account.event, placed), account))
    placed.sort(key=lambda each: (each[0], *_rank(each[1].event)))
    found: list[TimelineEvent] = []
    for latest_ns, account in placed:
        earliest_ns = found[-1].at_ns if found else account.event.at_ns
        at_ns = max(min(account.event.at_ns, latest_ns), earliest_ns)
        found.append(replace(account.event, at_ns=at_ns))
    return found


def _within_second(event: TimelineEvent, placed: Iterable[tuple[int, _Account]]) -> int:
    """Place what only the hub's object says before what usually follows it in the same second."""
    last_ns = event.at_ns + _LAST_OF_SECOND
    later = (at for at, each in placed if event.at_ns <= at <= last_ns and _rank(event) < _rank(each.event))
    return min(later, default=last_ns)


def _rank(event: TimelineEvent) -> tuple[bool, int, str]:
    """Order what happens at one moment."""
    return event.details.get("reason") in _NOT_LOST, _RANKS[event.what], event.cluster
