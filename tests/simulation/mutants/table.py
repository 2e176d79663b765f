# ruff: noqa: E501 - pieces of code as they are in the product
"""The bugs, each a replacement of a piece of the product that occurs there exactly once."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Mutant:
    """One bug."""

    name: str
    """What the product does wrong, in a few words."""
    path: str
    old: str
    new: str
    origin: str = "gates"
    """Which hole of a review, or fault of Kueue's own controller, it brings back; else a mutant of the decision."""


_DECISION: Final = "gates/decision/"

MUTANTS: Final = (
    # Windows
    Mutant(
        "windows have no length",
        _DECISION + "windows.py",
        "return max(length - elapsed(opening, view, now_ns), 0)",
        "return 0",
        "upstream 11",
    ),
    Mutant(
        "windows are half as long",
        _DECISION + "windows.py",
        "timeout, may_arrive = settings.timeout_ns, _may",
        "timeout, may_arrive = settings.timeout_ns // 2, _may",
        "F6",
    ),
    Mutant(
        "an opening that may still arrive is not waited for",
        _DECISION + "windows.py",
        "length = timeout + may_arrive",
        "length = timeout",
        "F7",
    ),
    Mutant(
        "a window counts from the record, not from the effect",
        _DECISION + "recordkeeping.py",
        "late_ns = min(effect_ns - began.at_ns, latest_arrival(opening, settings))",
        "late_ns = 0",
        "F7",
    ),
    Mutant(
        "a late opening is sent at any time",
        "manager/reconcile/worker_writer.py",
        "            priority=RequestPriority.URGENT,\n            not_after=_seconds(action.not_after_ns),",
        "            priority=RequestPriority.URGENT,",
        "F7",
    ),
    Mutant(
        "openings of unreachable workers do not count",
        _DECISION + "ledger.py",
        "    kept = (o for o in known if not _is_over(o, workload, view.worker(o.cluster)))",
        "    seen = {w.name for w in view.workers if w.reach is Reach.SYNCED}\n    kept = (o for o in known if o.cluster in seen and not _is_over(o, workload, view.worker(o.cluster)))",
        "upstream 11",
    ),
    Mutant(
        "the worker says when its window began",
        _DECISION + "windows.py",
        "    steady, began = view.steady, opening.steady\n    if steady is None:\n        return max(now_ns",
        "    steady, began = None, opening.steady\n    if steady is None:\n        return max(now_ns",
        "F6",
    ),
    Mutant(
        "a lost record is forgotten",
        _DECISION + "ledger.py",
        "known = (*workload.openings, *workload.lost_openings)",
        "known = workload.openings",
        "F6",
    ),
    Mutant(
        "a record that cannot be read is empty",
        _DECISION + "recordkeeping.py",
        "    if workload.openings_unreadable:",
        "    if False:",
        "F13",
    ),
    Mutant(
        "the gate opens before it is recorded",
        _DECISION + "pending.py",
        "return (Step((RecordOpenings(ledger, record_of(gate.worker, gate.opening)),)), Step((action,)))",
        "return (Step((action,)), Step((RecordOpenings(ledger, record_of(gate.worker, gate.opening)),)))",
        "upstream 11",
    ),
    Mutant(
        "openings are not recorded",
        _DECISION + "pending.py",
        "return (Step((RecordOpenings(ledger, record_of(gate.worker, gate.opening)),)), Step((action,)))",
        "return (Step((action,)),)",
        "upstream 11",
    ),
    Mutant(
        "an opening on its way stops no other",
        _DECISION + "opening.py",
        "    if (busy := opening_on_its_way(view, now_ns, settings)) is not None:",
        "    if (busy := opening_on_its_way(view, now_ns, settings)) is not None and False:",
        "F7",
    ),
    Mutant(
        "gates are never opened",
        _DECISION + "opening.py",
        "    return replica is not None and replica.has_gate and not replica.gate_open and replica.signal_ns is not None",
        "    return False",
    ),
    Mutant(
        "only the first worker ever gets a window",
        _DECISION + "opening.py",
        "    if last is None or longest is None or left == 0:",
        "    if last is None or longest is None:",
    ),
    Mutant(
        "every eviction ends the attempt's openings",
        _DECISION + "ledger.py",
        '    if opening.attempt in ("", workload.attempt):\n        return False\n    if not opening.replica_uid:',
        "    if not opening.replica_uid:",
        "F13",
    ),
    # Winners
    Mutant(
        "quota without admission wins",
        _DECISION + "winner.py",
        'if replica is None or not replica.is_true("Admitted"):',
        'if replica is None or not replica.is_true("QuotaReserved"):',
        "upstream 8592",
    ),
    Mutant(
        "every admitted worker runs the job",
        _DECISION + "cleaning.py",
        "    losers = (worker for worker in leftovers(view) if worker.name != winner)",
        "    losers: tuple[WorkerView, ...] = ()",
        "upstream 9",
    ),
    Mutant(
        "the oldest admission wins over the recorded winner",
        _DECISION + "winner.py",
        "    if view.workload.cluster_name:\n        return next",
        "    if False:\n        return next",
        "upstream 1",
    ),
    Mutant(
        "losers with a job are not waited for",
        _DECISION + "following.py",
        "losers = unfinished(view, worker.name) if worker.job_sync is JobSync.CREATE else ()",
        "losers: tuple[WorkerView, ...] = ()",
        "F2",
    ),
    Mutant(
        "the winner is not recorded before its job",
        _DECISION + "following.py",
        "return (Step((RecordWinner(winner, ledger_without_shown(view)),)),) if winner is not None else struck(view)",
        "return struck(view)",
        "upstream 1",
    ),
    Mutant(
        "a lost winner is given up at once",
        _DECISION + "following.py",
        "    return Decision(Rule.WINNER_LOST, requeue_ns=remaining) if remaining > 0 else _retry(Rule.WINNER_LOST, LOST)",
        "    return _retry(Rule.WINNER_LOST, LOST)",
        "F11",
    ),
    Mutant(
        "a lost winner is never given up",
        _DECISION + "following.py",
        "    return Decision(Rule.WINNER_LOST, requeue_ns=remaining) if remaining > 0 else _retry(Rule.WINNER_LOST, LOST)",
        "    return Decision(Rule.WINNER_LOST, requeue_ns=remaining)",
        "upstream 3",
    ),
    Mutant(
        "absence is believed of unread workers",
        _DECISION + "following.py",
        "    if worker is None or worker.reach is Reach.SYNCED:\n        return _retry(Rule.WINNER_REPLICA_GONE, GONE)",
        "    if worker is None or worker.replica is None:\n        return _retry(Rule.WINNER_REPLICA_GONE, GONE)",
        "upstream 5",
    ),
    Mutant(
        "a winner that is out of sight is forgotten",
        _DECISION + "winner.py",
        "    return tuple(w for w in view.workers if w.name == winner.cluster and w.reach is not Reach.SYNCED)",
        "    return ()",
        "F11",
    ),
    Mutant(
        "evictions on the winner are ignored",
        _DECISION + "following.py",
        "    if workload.check.state is not CheckState.READY or not workload.cluster_name:\n        return None\n    text = evicted_on_worker",
        "    if True:\n        return None\n    text = evicted_on_worker",
        "upstream 9670",
    ),
    Mutant(
        "any replica's eviction counts",
        _DECISION + "winner.py",
        "    return _oldest([w for w in having if not winner or w.name == winner], condition)",
        "    return _oldest(having, condition)",
        "upstream 2",
    ),
    Mutant(
        "an abandoned job of the hub is not stopped",
        _DECISION + "following.py",
        "    return Decision(Rule.ABANDONED_JOB, (Step((StopHubJob(),)),))",
        "    return None",
    ),
    Mutant(
        "the cluster of an earlier attempt is kept",
        _DECISION + "decide.py",
        '    if workload.is_true("Finished") or not (workload.cluster_name or nominated):',
        "    if True:",
        "upstream 27",
    ),
    # Cleaning up
    Mutant(
        "replicas of finished Workloads stay",
        _DECISION + "decide.py",
        "    steps = (*remove_all(view), *_forget_clusters(view, settings))",
        "    steps = _forget_clusters(view, settings)",
        "upstream 14",
    ),
    Mutant(
        "replicas of deleted Workloads stay",
        _DECISION + "decide.py",
        "    return Decision(Rule.WORKLOAD_DELETED, remove_all(view)) if view.workload.deleted else None",
        "    return Decision(Rule.WORKLOAD_DELETED) if view.workload.deleted else None",
    ),
    Mutant(
        "nothing looks for orphans",
        "manager/upkeep/garbage.py",
        "                await self.collect()",
        "                await self._clock.sleep(0)",
        "upstream 14",
    ),
    Mutant(
        "what is terminating is removed again and again",
        _DECISION + "cleaning.py",
        "worker.reach is Reach.SYNCED and worker.removable)",
        "worker.reach is Reach.SYNCED and (worker.replica is not None or worker.job_present))",
        "F2",
    ),
    Mutant(
        "remote objects are removed without asking whose they are",
        "manager/reconcile/worker_writer.py",
        "        return self._identity.owns(record.origin, record.hub) and link.authorship.wrote(record.cluster)",
        "        return True",
        "F4",
    ),
    Mutant(
        "copies on unlisted workers stay",
        _DECISION + "cleaning.py",
        "    doomed |= {w.name for w in leftovers(view) if not w.listed and w.name != view.workload.cluster_name}\n",
        "",
        "upstream 9",
    ),
    # Leadership
    Mutant(
        "a standby writes too",
        "manager/election/leadership.py",
        "        return self._clock.monotonic() < self._until\n",
        "        return True\n",
    ),
    Mutant(
        "the Lease is taken over too soon",
        "gates/upkeep/leadership.py",
        "    remaining = sighting.since + duration - now",
        "    remaining = sighting.since + duration / 3 - now",
    ),
    Mutant(
        "the Lease is believed for twice its time",
        "manager/election/leadership.py",
        "        self._until = sent + self._terms.renew_seconds",
        "        self._until = sent + 4 * self._terms.renew_seconds",
    ),
    Mutant(
        "a lost Lease is not noticed before bytes leave",
        "workerclient/transport/session.py",
        "        if request.is_write and not self.may_write():",
        "        if False:",
    ),
    # Caches and connections
    Mutant(
        "a restored cluster's older objects are refused",
        "workerclient/objects/cache.py",
        "        if entry is not None and not _is_newer(version, entry.version):\n            return False\n        self._store",
        "        if entry is not None and (version or 0) < (entry.version or 0):\n            return False\n        self._store",
        "F10",
    ),
    Mutant(
        "a refused watch is tried again as it was",
        "workerclient/objects/reflector.py",
        "            self._version = None\n            raise error_for",
        "            raise error_for",
        "found by the simulation",
    ),
    Mutant(
        "410 is not followed by a list",
        "workerclient/objects/reflector.py",
        "        except Expired as error:\n            self._lose_track()",
        "        except Expired as error:\n            self.counts.failures += 1",
    ),
    Mutant(
        "a silent watch is believed for ever",
        "workerclient/objects/reflector.py",
        "            async with self._clock.timeout(self._limits.liveness_seconds) as deadline:",
        "            async with self._clock.timeout(1e6) as deadline:",
        "upstream 11328",
    ),
    Mutant(
        "deletions in a list are not noticed",
        "workerclient/objects/reflector.py",
        "        await self._report_all(gone)",
        "        gone.clear()",
    ),
    Mutant(
        "reconnection wakes nothing",
        "manager/app/event_router.py",
        "        self._checks(self._hub.checks_listing(name), delay)\n        link =",
        "        link =",
        "upstream 4",
    ),
    Mutant(
        "changed lists of workers wake nothing",
        "manager/app/event_router.py",
        "            self._checks(self._hub.checks_using(name))",
        "            pass",
        "upstream 19",
    ),
    Mutant(
        "a failure in the work on one worker ends the daemon",
        "manager/process/supervision.py",
        "    return error or RuntimeError",
        "    raise error or RuntimeError",
        "F1",
    ),
    Mutant(
        "writes carry no version",
        "workerclient/objects/resource.py",
        '        return {"uid": self.uid, "resourceVersion": self.resource_version}',
        '        return {"uid": self.uid}',
    ),
    Mutant(
        "a name that leads to another cluster is believed",
        "gates/model/identity.py",
        "    if before is None or before.uid == claim.uid or claim.name in given_up:",
        "    if True:",
        "F4",
    ),
    Mutant(
        "two names of one cluster both work",
        "gates/model/identity.py",
        "        if first != name and claimed[name].uid is not None:",
        "        if False:",
        "F4",
    ),
    Mutant(
        "time away is measured by the wall clock",
        "manager/clusters/lost_workers.py",
        "        return max(0.0, self._clock.monotonic() - max(since, earliest))",
        "        return max(0.0, self._clock.now_ns() / SECOND - 1_750_000_000 + 1000.0 - max(since, earliest))",
        "F11",
    ),
    Mutant(
        "the grace of a lost worker begins again with every process",
        "manager/clusters/lost_workers.py",
        "                self._since[worker] = min(since, self._since.get(worker, since))",
        "                self._since[worker] = self._clock.monotonic()",
        "upstream 3",
    ),
)
