"""Jobs: one place at a time, one end, and losers that lose their admission."""

from collections.abc import Callable, Iterable

from config.api.meta import Obj
from tests.simulation.laws.facts import RECOVERY_SECONDS, Seen, Troubles, holds, hub_uid, is_running

_LOSER_SECONDS = 60.0
"""How long a replica that lost may stay admitted on a worker that can be reached."""


class RunningLaws:
    """Laws 2, 3 and 10."""

    def __init__(self, troubles: Troubles, violate: Callable[[str, str], None]) -> None:
        self._troubles = troubles
        self._violate = violate
        self._running: dict[str, dict[str, float]] = {}
        self._ended: dict[str, list[tuple[str, float]]] = {}
        self._ended_on_hub: dict[str, int] = {}
        self._losing: dict[tuple[str, str], float] = {}

    def see_worker(self, seen: Seen) -> None:
        """Take a change of a copy of a job."""
        uid = hub_uid(seen.obj)
        where = self._running.setdefault(uid, {})
        if not is_running(seen.new, seen.plural):
            where.pop(seen.cluster, None)
        elif seen.cluster not in where:
            for other, since in where.items():
                self._check_twice(seen, other, since)
            where[seen.cluster] = seen.at
        if holds(seen.new, "Complete") and not holds(seen.old, "Complete"):
            self._note_end(seen, uid)

    def see_hub(self, seen: Seen) -> None:
        """Take a change of a job of the hub."""
        if holds(seen.new, "Complete") and not holds(seen.old, "Complete"):
            uid = str(seen.obj["metadata"]["uid"])
            self._ended_on_hub[uid] = self._ended_on_hub.get(uid, 0) + 1
            if self._ended_on_hub[uid] > 1 and not self._troubles.was_set_back("hub"):
                self._violate("one end", f"{seen.name} ended twice on the hub")

    def look(self, now: float, hub: Iterable[Obj], workers: dict[str, list[Obj]]) -> None:
        """Look at all replicas: those that lost must lose their admission."""
        losing = {}
        for workload in hub:
            status = workload.get("status") or {}
            chosen = status.get("clusterName")
            if not chosen or not holds(workload, "Admitted"):
                continue
            uid = workload["metadata"]["uid"]
            admitted = [
                name
                for name, replicas in workers.items()
                for replica in replicas
                if hub_uid(replica) == uid
                and holds(replica, "Admitted")
                and "deletionTimestamp" not in replica["metadata"]
            ]
            if len(admitted) > 1:
                losing.update({(uid, name): self._losing.get((uid, name), now) for name in admitted})
                self._check_losers(workload, uid, admitted, losing, now)
        self._losing = losing

    def forget(self, cluster: str) -> None:
        """Take note that a cluster was set back, so that what ran there may not."""
        for where in self._running.values():
            where.pop(cluster, None)

    def _check_twice(self, seen: Seen, other: str, since: float) -> None:
        for cluster in (other, seen.cluster):
            if self._troubles.was_set_back(cluster) or self._troubles.was_lost(cluster, since, seen.at):
                return
        self._violate("one place at a time", f"{seen.name} runs on {other} and on {seen.cluster}")

    def _note_end(self, seen: Seen, uid: str) -> None:
        earlier = self._ended.setdefault(uid, [])
        for other, at in earlier:
            clusters = (other, seen.cluster)
            is_excused = any(
                self._troubles.was_set_back(each) or self._troubles.was_lost(each, at - 300.0, seen.at)
                for each in clusters
            )
            is_excused = is_excused or self._troubles.lost_copies(other, at, seen.at)
            is_excused = is_excused or self._troubles.was_begun_again(seen.name, at, seen.at)
            if not is_excused and not self._troubles.was_set_back("hub"):
                self._violate("one end", f"{seen.name} ended on {other} at {at:.3f} s and again on {seen.cluster}")
        earlier.append((seen.cluster, seen.at))

    def _check_losers(
        self, workload: Obj, uid: str, admitted: list[str], losing: dict[tuple[str, str], float], now: float
    ) -> None:
        seconds = [now - max(losing[uid, name], self._troubles.calm_since(name, now)) for name in admitted]
        hub_calm = now - self._troubles.calm_since("hub", now)
        if min(seconds) > _LOSER_SECONDS + RECOVERY_SECONDS and hub_calm > RECOVERY_SECONDS:
            name = workload["metadata"]["name"]
            self._violate("losers lose", f"{name} is admitted on {', '.join(admitted)} for {min(seconds):.0f} s")
