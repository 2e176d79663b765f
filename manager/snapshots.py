"""Takes the state of one Workload out of all caches at one moment, for the pure code to look at."""

from collections.abc import Callable, Mapping

from gates.assembling import HubJobs, Snapshot, WorkerFacts
from gates.jobs.records import JobRecord
from gates.records import CheckEntry, HubRecord, ReplicaRecord
from gates.view import CheckState, Reach
from manager.forecasts import Forecasts, Insight
from manager.hub import HubLink
from manager.lanes import Lanes
from manager.remote import odd_members, remote_members
from manager.worker import WorkerLink
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.kind import Key


class Snapshots:
    """Reads the caches of the hub and of all workers."""

    def __init__(
        self,
        hub: HubLink,
        links: Mapping[str, WorkerLink],
        lost_since: Callable[[str], int],
        lanes: Lanes,
        clock: Clock,
        forecasts: Forecasts | None = None,
    ) -> None:
        self._forecasts = forecasts
        self._hub = hub
        self._links = links
        self._lost_since = lost_since
        self._lanes = lanes
        self._clock = clock

    def take(self, record: HubRecord, *, departed: bool, on_demand: bool = False) -> Snapshot:
        """Return everything about one Workload; on demand with a forecast of every worker."""
        checks = self._hub.our_checks()
        entry = record.check(checks)
        listed = (self._hub.clusters_of(entry.name) if entry is not None else None) or ()
        jobs = self._hub.jobs_of(record)
        positions = {name: position for position, name in enumerate(listed)}
        over = departed or record.is_true("Finished")
        near = [name for name in listed if not over or self._may_hold(name, record, jobs)]
        far = [name for name in self._links if name not in positions and self._may_hold(name, record, jobs)]
        names = (*near, *sorted(far))
        tries_gates = not on_demand and _is_waiting(entry, record)
        facts = (
            self._facts(name, positions.get(name), record, jobs, tries_gates=tries_gates, on_demand=on_demand)
            for name in names
        )
        return Snapshot(
            hub=record,
            our_checks=checks,
            jobs=jobs,
            workers=tuple(each for each in facts if each.position is not None or _is_involved(each)),
            siblings=self._hub.siblings(record),
            departed=departed,
        )

    def _may_hold(self, name: str, record: HubRecord, jobs: HubJobs) -> bool:
        """Tell whether a worker may hold something of a Workload.

        One that does not is of no interest when the Workload is over, or when its check does not lead there.
        """
        link = self._links.get(name)
        if link is None or link.reach(jobs.kind) is not Reach.SYNCED:
            return True
        key = Key(record.namespace, record.name)
        return link.replica(key) is not None or bool(_jobs(link, key, jobs) or odd_members(link, jobs))

    def config_is_readable(self, record: HubRecord) -> bool:
        """Return whether the Workload's check leads to a list of clusters."""
        entry = record.check(self._hub.our_checks())
        return entry is None or self._hub.clusters_of(entry.name) is not None

    def _facts(
        self,
        name: str,
        position: int | None,
        record: HubRecord,
        jobs: HubJobs,
        *,
        tries_gates: bool,
        on_demand: bool,
    ) -> WorkerFacts:
        link = self._links.get(name)
        key = Key(record.namespace, record.name)
        if link is None:
            return WorkerFacts(name, position, Reach.LOST, lost_since_ns=self._lost_since(name))
        reach = link.reach(jobs.kind)
        found = link.replica(key)
        problem = self._lanes.problem(key, name)
        for odd in (found, *odd_members(link, jobs)):
            if isinstance(odd, Unreadable):
                reach, problem = Reach.UNREADABLE, f"worker {name}: {odd.identity.key}: {odd.problem}"
        replica = found if isinstance(found, ReplicaRecord) and reach is Reach.SYNCED else None
        memory = link.recall(key)
        now = self._clock.monotonic()
        insight = Insight()
        if self._forecasts is not None and reach is Reach.SYNCED:
            insight = self._forecasts.about(link, record, replica, on_demand=on_demand)
        return WorkerFacts(
            name=name,
            position=position,
            reach=reach,
            lost_since_ns=self._lost_since(name) if reach is Reach.LOST else None,
            clock_skew_ns=link.clock_skew_ns,
            dialect=link.dialect,
            gates=link.judge_gates(key, replica, may_try=tries_gates and position is not None),
            replica=replica,
            jobs=_jobs(link, key, jobs) if reach is Reach.SYNCED else (),
            foreign_workload=memory.foreign_workload_until > now,
            foreign_job=memory.foreign_job_until > now,
            serves_kind=link.serves(jobs.kind),
            confirmed=frozenset(memory.confirmed),
            busy=self._lanes.is_busy(key, name),
            problem=problem,
            forecast=insight.forecast,
            forecast_reliable=insight.is_reliable,
            witness=insight.witness,
            pods=insight.pods,
            pod_witness=insight.pod_witness,
        )


def _is_waiting(entry: CheckEntry | None, record: HubRecord) -> bool:
    """Tell whether the Workload is about to get replicas."""
    return entry is not None and entry.state is CheckState.PENDING and record.is_true("QuotaReserved")


def _jobs(link: WorkerLink, key: Key, jobs: HubJobs) -> tuple[JobRecord, ...]:
    found = {job.uid: job for _, job in link.jobs_of(key)}
    for job in remote_members(link, jobs):
        # A job that names another Workload belongs to that one, unless the hub's job is where they meet.
        if not job.workload or job.workload == key.name or job.elastic:
            found[job.uid] = job
    return tuple(found.values())


def _is_involved(facts: WorkerFacts) -> bool:
    return facts.replica is not None or bool(facts.jobs)
