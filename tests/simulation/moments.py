"""Moments of a history as they become visible on clusters, and what follows them."""

import json
from collections.abc import Callable, Mapping

from config.api.meta import Obj
from gates.model import marks
from localcluster.store.ledger import Change, ChangeType, Collection
from tests.simulation.laws.facts import annotation, gate_is_open, holds, hub_uid, is_ours, owner_of
from tests.simulation.plan import Moment

Follower = Callable[[str, str], None]
"""Called with the worker and the job that a moment is about, if any."""


class Moments:
    """Counts moments, and calls what waits for one of them."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        """The first name of a worker, by each of its names."""
        self._jobs: dict[str, str] = {}
        """The job of a hub Workload, by UID."""
        self._counts: dict[str, int] = {}
        self._followers: dict[tuple[str, int], list[Follower]] = {}

    def follow(self, moment: str, nth: int, follower: Follower) -> None:
        """Call back at the n-th moment of a kind."""
        self._followers.setdefault((moment, nth), []).append(follower)

    def see_hub(self, collection: Collection, change: Change) -> None:
        """Take a change on the hub."""
        if collection.kind.plural != "workloads" or collection.kind.alias or change.type is ChangeType.DELETED:
            return
        new, old = change.new.obj, None if change.old is None else change.old.obj
        job = self._jobs[str(new["metadata"]["uid"])] = owner_of(new)
        if holds(new, "QuotaReserved") and not holds(old, "QuotaReserved"):
            self._reach(Moment.QUOTA, "", job)
        recorded = _recorded(old)
        for entry in _recorded(new):
            if entry not in recorded:
                self._reach(Moment.RECORD, self._names.get(entry[0], ""), job)

    def see_worker(self, cluster: str) -> Callable[[Collection, Change], None]:
        """Return what takes the changes on a worker."""
        worker = cluster.rstrip("'")

        def see(collection: Collection, change: Change) -> None:
            plural, new = collection.kind.plural, change.new.obj
            if collection.kind.alias or change.type is ChangeType.DELETED or not is_ours(new):
                return
            old = None if change.old is None else change.old.obj
            job = str(new["metadata"]["name"]) if plural == "jobs" else self._jobs.get(hub_uid(new), "")
            if plural == "workloads":
                if gate_is_open(new) and not gate_is_open(old):
                    self._reach(Moment.OPENING, worker, job)
                if holds(new, "Admitted") and not holds(old, "Admitted"):
                    self._reach(Moment.ADMITTED, worker, job)
            elif plural == "jobs":
                if old is None:
                    self._reach(Moment.JOB, worker, job)
                if holds(new, "Complete") and not holds(old, "Complete"):
                    self._reach(Moment.ENDED, worker, job)

        return see

    def _reach(self, moment: Moment, worker: str, job: str) -> None:
        count = self._counts[moment] = self._counts.get(moment, 0) + 1
        for follower in self._followers.pop((moment, count), ()):
            follower(worker, job)


def _recorded(workload: Obj | None) -> list[tuple[str, str]]:
    text = "" if workload is None else annotation(workload, marks.GATE_OPENINGS)
    if not text:
        return []
    try:
        return [(str(entry["cluster"]), str(entry["replicaUID"])) for entry in json.loads(text)]
    except (LookupError, TypeError, ValueError):
        return []
