"""Carries out what a decision asks this process to remember, at once and without any request to a cluster."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from config.api.identifiers import WorkerName
from gates.assembly.assembling import Snapshot, WorkerFacts
from gates.model.local_actions import (
    ClaimGateTrial,
    FollowForecast,
    FollowPodForecast,
    HoldPromise,
    LocalAction,
    NoteAbsence,
    NoteGateEvidence,
    NoteListed,
    NoteUnlisted,
    ReleasePromise,
    RequestForecast,
    UnfollowForecast,
    UnfollowPodForecast,
)
from gates.wire.records import HubRecord
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.worker import WorkerLink
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.unlisted import UnlistedWorkers

_Following = FollowForecast | UnfollowForecast | FollowPodForecast | UnfollowPodForecast | HoldPromise | ReleasePromise


class LocalActions:
    """What this process remembers about workers."""

    def __init__(
        self,
        links: Mapping[WorkerName, WorkerLink],
        lost_workers: LostWorkers,
        unlisted: UnlistedWorkers,
        forecasts: Forecasts | None,
    ) -> None:
        self._links = links
        self._lost_workers = lost_workers
        self._unlisted = unlisted
        self._forecasts = forecasts

    def carry_out(self, snapshot: Snapshot, actions: Iterable[LocalAction]) -> bool:
        """Remember what was decided on a snapshot; return whether the next one will know more."""
        facts, followed = {each.name: each for each in snapshot.workers}, False
        for action in actions:
            self._carry_out(snapshot, facts[action.cluster], action)
            followed = followed or isinstance(action, FollowForecast | FollowPodForecast)
        return followed

    def _carry_out(self, snapshot: Snapshot, facts: WorkerFacts, action: LocalAction) -> None:
        hub, link = snapshot.hub, self._links.get(action.cluster)
        match action:
            case NoteAbsence():
                self._lost_workers.note(action.cluster)
            case NoteUnlisted():
                self._unlisted.note(_check_of(snapshot), action.cluster)
            case NoteListed():
                self._unlisted.forget(_check_of(snapshot), action.cluster)
            case NoteGateEvidence():
                if link is not None:
                    link.gates.note_evidence(hub.key, facts.replica, facts.preempted_ns)
            case ClaimGateTrial():
                if link is not None:
                    link.gates.claim_trial(hub.key)
            case RequestForecast():
                for request in facts.requests:
                    request()
            case (
                FollowForecast()
                | UnfollowForecast()
                | FollowPodForecast()
                | UnfollowPodForecast()
                | HoldPromise()
                | ReleasePromise()
            ):
                if link is not None and self._forecasts is not None:
                    _follow(self._forecasts, link, hub, facts, action)
            case _:
                assert_never(action)


def _follow(forecasts: Forecasts, link: WorkerLink, hub: HubRecord, facts: WorkerFacts, action: _Following) -> None:
    match action:
        case FollowForecast():
            forecasts.follow(link, hub, facts.replica)
        case UnfollowForecast():
            forecasts.unfollow(link, hub)
        case FollowPodForecast():
            forecasts.follow_pods(link, hub, facts.replica)
        case UnfollowPodForecast():
            forecasts.unfollow_pods(link, hub)
        case HoldPromise():
            if facts.promise is not None:
                forecasts.hold(hub.key, link.name, facts.promise)
        case ReleasePromise():
            forecasts.release(hub.key, link.name)
        case _:
            assert_never(action)


def _check_of(snapshot: Snapshot) -> str:
    entry = snapshot.hub.check(snapshot.our_checks)
    return entry.name if entry is not None else ""
