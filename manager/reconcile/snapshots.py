"""Takes the state of one Workload out of all caches at one moment, for the pure code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from config.api.identifiers import NO_WORKER, WorkerName
from engine.vocabulary.effort import Effort
from gates.assembly.assembling import Snapshot, WindowFacts, WorkerFacts
from gates.assembly.gate_support import has_preempted_gated
from gates.assembly.job_plans import HubJobs
from gates.jobs.belonging import foreign_in_the_way
from gates.model.local_actions import WorkerNews
from gates.model.marks import HubIdentity
from gates.model.settings import SECOND
from gates.model.view import Reach
from gates.wire.records import CheckEntry, HubRecord, ReplicaRecord
from manager.clusters.cluster_identity import ClusterIdentities
from manager.clusters.hub import HubLink
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.worker import WorkerLink
from manager.models.large_forecasts import LOOK_STEPS
from manager.process.worker_thread import WorkerThread
from manager.queueing.action_slots import ActionSlots
from manager.reconcile.forecasts import Forecasts
from manager.reconcile.insight import Insight
from manager.reconcile.remote_jobs import JobsThere, RemoteJobs, claim_of
from manager.reconcile.removals import Removals
from manager.reconcile.unlisted import UnlistedWorkers
from manager.reconcile.windows import Windows
from workerclient.base.clock import Clock
from workerclient.objects.cache import Unreadable


def _as_found(facts: WorkerFacts, _record: HubRecord) -> WorkerFacts:
    return facts


@dataclass(frozen=True, slots=True)
class SnapshotScope:
    """What a snapshot shows of the workers."""

    adopt: Callable[[WorkerFacts, HubRecord], WorkerFacts] = _as_found
    """Returns a worker's facts with the replica that counts as the Workload's."""


class Snapshots:
    """Reads the caches of the hub and of all workers."""

    def __init__(
        self,
        hub: HubLink,
        links: Mapping[WorkerName, WorkerLink],
        lost_workers: LostWorkers,
        unlisted: UnlistedWorkers,
        slots: ActionSlots,
        clock: Clock,
        identity: HubIdentity,
        removals: Removals,
        *,
        forecasts: Forecasts | None = None,
        windows: Windows | None = None,
        identities: ClusterIdentities | None = None,
        scope: SnapshotScope | None = None,
    ) -> None:
        self._scope = scope or SnapshotScope()
        self._remote_jobs = RemoteJobs(hub, identity)
        self._removals = removals
        self._identities = identities
        self._forecasts = forecasts
        self._windows = windows
        self._hub = hub
        self._links = links
        self._lost_workers = lost_workers
        self._unlisted = unlisted
        self._slots = slots
        self._clock = clock

    def take(
        self,
        record: HubRecord,
        *,
        departed: bool,
        now_ns: int,
        insights: Mapping[WorkerName, Insight] | None = None,
    ) -> Snapshot:
        """Return everything about one Workload, with these insights where they were asked for before.

        Nothing changes by it: what is not noted yet is reported as news, for the decision to say what becomes of it.
        """
        checks = self._hub.our_checks()
        entry = record.check(checks)
        jobs = self._hub.jobs_of(record)
        positions = self._positions(record, jobs, departed=departed)
        chosen = self._chosen(record, departed=departed)
        effort = Effort(LOOK_STEPS)

        def insight_of(link: WorkerLink, replica: ReplicaRecord | None) -> Insight:
            if insights is not None:
                return insights.get(link.name, Insight())
            if self._forecasts is None:
                return Insight()
            return self._forecasts.about(link, record, replica, effort, now_ns)

        found = (self._facts(name, position, record, jobs, insight_of) for name, position in positions.items())
        facts = [self._lost(each, entry, now_ns) for each in found]
        return Snapshot(
            hub=record,
            our_checks=checks,
            jobs=jobs,
            workers=tuple(
                self._scope.adopt(each, record)
                for each in facts
                if each.position is not None or each.name in chosen or _is_involved(each)
            ),
            siblings=self._hub.siblings(record),
            peers=self._hub.peers(record),
            departed=departed,
            aliases={} if self._identities is None else self._identities.names.aliases,
            windows=WindowFacts() if self._windows is None else self._windows.facts(record),
        )

    async def insights(self, record: HubRecord, thread: WorkerThread) -> dict[WorkerName, Insight]:
        """Ask for the forecasts of every worker, one after the other, so that nothing else waits for all of them."""
        found: dict[WorkerName, Insight] = {}
        jobs = self._hub.jobs_of(record)
        for name in self._positions(record, jobs, departed=False):
            link = self._links.get(name)
            if self._forecasts is None or link is None or link.reach(jobs.kind) is not Reach.SYNCED:
                continue
            replica = link.replica(record.key)
            known = replica if isinstance(replica, ReplicaRecord) else None
            found[name] = await self._forecasts.about_everything(link, record, known, thread)
            await self._clock.sleep(0)
        return found

    def _positions(self, record: HubRecord, jobs: HubJobs, *, departed: bool) -> dict[WorkerName, int | None]:
        """Return the workers that a Workload has to do with, and their positions on its list."""
        entry = record.check(self._hub.our_checks())
        listed = (self._hub.clusters_of(entry.name) if entry is not None else None) or ()
        followed = self._followed(listed, record)
        over = departed or record.is_true("Finished")
        near = {name: at for name, at in followed.items() if not over or self._may_hold(name, record, jobs)}
        far = {
            name
            for name in self._links
            if name not in followed
            and self._may_hold(name, record, jobs)
            and (over or not self._may_be_renamed(name, listed, record, jobs))
        }
        chosen = self._chosen(record, departed=departed) - followed.keys()
        return {**near, **dict.fromkeys(sorted(far | chosen))}

    def _chosen(self, record: HubRecord, *, departed: bool) -> set[WorkerName]:
        """Return the workers that may be running the Workload, whether or not they are listed or known any longer."""
        if departed or record.is_true("Finished") or record.check(self._hub.our_checks()) is None:
            return set()
        winner = record.winner.cluster if record.winner is not None else NO_WORKER
        named = {record.cluster_name, winner} - {NO_WORKER}
        return named if self._identities is None else {self._identities.names.current(name) for name in named}

    def _followed(self, listed: tuple[WorkerName, ...], record: HubRecord) -> dict[WorkerName, int]:
        """Return the workers to follow in order of preference: the listed ones, and where the job may be running.

        The worker that was recorded may be listed by another name of the same cluster, or be about to be.
        """
        positions = {name: position for position, name in enumerate(listed)}
        recorded = record.cluster_name or _winner(record)
        if self._identities is None or not recorded:
            return positions
        current = self._identities.names.current(recorded)
        if current not in positions:
            if recorded in positions:
                positions[current] = positions[recorded]
            elif self._identities.awaits(current, listed):
                positions[current] = len(listed)
        return positions

    def _may_hold(self, name: WorkerName, record: HubRecord, jobs: HubJobs) -> bool:
        """Tell whether a worker may hold something of a Workload.

        One that does not is of no interest when the Workload is over, or when its check does not lead there.
        """
        link = self._links.get(name)
        if link is None or link.reach(jobs.kind) is not Reach.SYNCED:
            return True
        there = self._remote_jobs.find(link, claim_of(record, jobs))
        key = record.key
        return link.replica(key) is not None or bool(there.own or there.unreadable)

    def _may_be_renamed(
        self, name: WorkerName, listed: tuple[WorkerName, ...], record: HubRecord, jobs: HubJobs
    ) -> bool:
        """Tell whether an unlisted worker's replica may turn out to be that of a listed worker still to be identified.

        Only one that waits behind its gate is left alone for that long: others may preempt, or run the work twice.
        """
        if self._identities is None or not self._identities.awaits(name, listed):
            return False
        link = self._links[name]
        replica = link.replica(record.key)
        is_waiting = isinstance(replica, ReplicaRecord) and replica.waits_behind_gate(link.dialect)
        return is_waiting and not self._remote_jobs.find(link, claim_of(record, jobs)).own

    def config_is_readable(self, record: HubRecord) -> bool:
        """Return whether the Workload's check leads to a list of clusters."""
        entry = record.check(self._hub.our_checks())
        return entry is None or self._hub.clusters_of(entry.name) is not None

    def _facts(
        self,
        name: WorkerName,
        position: int | None,
        record: HubRecord,
        jobs: HubJobs,
        insight_of: Callable[[WorkerLink, ReplicaRecord | None], Insight],
    ) -> WorkerFacts:
        link = self._links.get(name)
        key = record.key
        if link is None:
            return WorkerFacts(name, position, Reach.LOST, traits=self._hub.workers.traits(name))
        reach = link.reach(jobs.kind)
        found = link.replica(key)
        problem = self._slots.problem(key, name)
        there = self._remote_jobs.find(link, claim_of(record, jobs))
        for odd in (found, *there.unreadable):
            if isinstance(odd, Unreadable):
                reach, problem = Reach.UNREADABLE, f"worker {name}: {odd.identity.key}: {odd.problem}"
        if reach is not Reach.SYNCED:
            there = JobsThere()
        replica = found if isinstance(found, ReplicaRecord) and reach is Reach.SYNCED else None
        if position is None:  # whatever another name wrote there is none of this Workload's business
            own = tuple(job for job in there.own if _may_touch(link, record, job.record.cluster))
            there = replace(there, own=own)
            replica = replica if replica is not None and _may_touch(link, record, replica.cluster) else None
        memory = link.memory.recall(key)
        now = self._clock.monotonic()
        insight = insight_of(link, replica) if reach is Reach.SYNCED else Insight()
        preempted_ns = self._preempted_ns(link, record, replica)
        gates, news = link.gates.support(key, replica, preempted_ns)
        return WorkerFacts(
            name=name,
            position=position,
            reach=reach,
            clock_skew_ns=link.clock_skew_ns,
            clock_uncertainty_ns=link.clock_uncertainty_ns,
            dialect=link.dialect,
            gates=gates,
            is_silent=link.gates.is_silent_to_others(key),
            answers=memory.answers_until > now,
            replica=replica,
            preempted_ns=preempted_ns,
            jobs=there.own,
            wanted_jobs=there.wanted,
            removal_tried_ns=self._removals.tried_ns(key, name),
            foreign_workload=memory.foreign_workload_until > now,
            foreign_job=bool(foreign_in_the_way(there.foreign, jobs.members)) or memory.foreign_job_until > now,
            serves_kind=link.serves(jobs.kind),
            settled_jobs=dict(memory.settled_jobs),
            settled_spec=memory.settled_spec,
            confirmed=frozenset(memory.confirmed),
            opening_on_its_way=self._slots.is_opening(key, name),
            effect_ns=None if self._windows is None else self._windows.effect(record, name),
            tried_ns=None if self._windows is None else self._windows.last_try(record, name),
            busy=self._slots.is_busy(key, name),
            problem=problem,
            forecast=insight.forecast,
            forecast_reliable=insight.is_reliable,
            forecast_wait_ns=insight.forecast_wait_ns,
            witness=insight.witness,
            pods=insight.pods,
            pod_witness=insight.pod_witness,
            news=news | insight.news,
            requests=insight.requests,
            promise=insight.promise,
            traits=replace(self._hub.workers.traits(name), most_pod_sets=link.kueue.found.schema.most_pod_sets),
            authorship=link.authorship,
        )

    def _preempted_ns(self, link: WorkerLink, record: HubRecord, replica: ReplicaRecord | None) -> int | None:
        """Return when others were last preempted for a replica whose gate was not opened, as far as can be seen."""
        if self._windows is None or link.observation is None or replica is None:
            return None
        if any(opening.replica_uid == replica.uid and not opening.until_shown for opening in record.openings):
            return None
        victim_ns = link.observation.last_victim_ns(replica.uid)
        is_breach = victim_ns is not None and has_preempted_gated(replica, victim_ns, link.dialect)
        return victim_ns if is_breach else None

    def _lost(self, facts: WorkerFacts, entry: CheckEntry | None, now_ns: int) -> WorkerFacts:
        """Add for how long a worker has been out of reach, or one that is no longer listed has been of no use."""
        unlisted = None if entry is None else self._unlisted.seconds(entry.name, facts.name)
        if facts.position is not None and unlisted is not None:
            facts = replace(facts, news=facts.news | {WorkerNews.LISTED_AGAIN})
        if facts.reach is Reach.SYNCED:
            return facts
        waits, news = [], set(facts.news)
        if facts.reach is Reach.LOST:
            waits.append(self._lost_workers.missing_for(facts.name))
            news |= set() if self._lost_workers.is_noted(facts.name) else {WorkerNews.LOST}
        if facts.position is None and entry is not None:
            waits.append(unlisted or 0.0)
            news |= {WorkerNews.UNLISTED} if unlisted is None else set()
        if not waits:
            return facts
        lost_for_ns = int(max(waits) * SECOND)
        return replace(facts, lost_since_ns=now_ns - lost_for_ns, lost_for_ns=lost_for_ns, news=frozenset(news))


def _winner(record: HubRecord) -> WorkerName:
    """Return the worker that was chosen in this attempt."""
    reserved = record.conditions.get("QuotaReserved")
    if record.winner is None or reserved is None or record.winner.attempt_ns != reserved.last_transition_ns:
        return NO_WORKER
    return record.winner.cluster


def _may_touch(link: WorkerLink, record: HubRecord, mark: WorkerName) -> bool:
    """Tell whether an object on a worker that is not listed may be this worker's own.

    Earlier versions left no name. Where it is not known either which cluster that is, the hub's Workload has to name
    the worker.
    """
    if not link.authorship.wrote(mark):
        return False
    named = (record.cluster_name, *record.nominated, *(opening.cluster for opening in record.openings))
    return bool(mark) or link.authorship.is_proven or link.name in named


def _is_involved(facts: WorkerFacts) -> bool:
    return facts.replica is not None or bool(facts.jobs)
