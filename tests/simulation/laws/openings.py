"""Gates: one cluster per timeout, each opening recorded first, and Ready only for what a worker admitted."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from config.api.meta import Obj
from gates.model import marks
from localcluster.sample_queues import CHECK
from tests.simulation.laws.facts import Seen, Troubles, annotation, asks_to_preempt, gate_is_open, holds, hub_uid
from tests.simulation.plan import SERVING

_LAG = 60.0
"""How long ago a worker may have withdrawn an admission that the hub is told of."""


_TOLD_SECONDS = 180.0
"""How long the hub may not know that a worker has admitted a Workload, while nothing is wrong."""
_CARRIED_OUT = 75.0
"""How long after a decision its write may take effect, beyond the half of the timeout in which it may be sent."""


@dataclass(frozen=True)
class _Opened:
    cluster: str
    at: float
    author: str


class OpeningLaws:
    """Laws 1, 7 and 8."""

    def __init__(
        self, timeout: float, ungated: set[str], troubles: Troubles, violate: Callable[[str, str], None]
    ) -> None:
        self._timeout = timeout
        self._ungated = ungated
        """Workers whose Kueue has no gates: there the creation of a replica is the opening."""
        self._troubles = troubles
        self._violate = violate
        self._attempts: dict[str, int] = {}
        self._opened: dict[tuple[str, int], list[_Opened]] = {}
        self._recorded: dict[str, set[str]] = {}
        self._admitted: dict[tuple[str, str], float] = {}
        """When a worker's replica of a Workload was admitted last; infinite while it is."""
        self._untold: dict[tuple[str, str], float] = {}
        """Since when a worker has admitted what waits on the hub, as far as was looked."""
        self._asked: set[str] = set()
        """UIDs of replicas that have asked to preempt."""
        self._decided: dict[tuple[str, str], float] = {}
        """When a process last decided to open the gate of a worker."""
        self.openings = 0

    def see_hub(self, seen: Seen) -> None:
        """Take a change of a hub Workload."""
        if seen.new is None:
            return
        uid = str(seen.new["metadata"]["uid"])
        if holds(seen.new, "QuotaReserved") and not holds(seen.old, "QuotaReserved"):
            self._attempts[uid] = self._attempts.get(uid, 0) + 1
        self._recorded.setdefault(uid, set()).update(_recorded_clusters(seen.new))
        if seen.by_daemon and _is_ready(seen.new) and not _is_ready(seen.old):
            self._check_admission(seen, uid)

    def see_worker(self, seen: Seen, names: list[str]) -> None:
        """Take a change of a replica; `names` are those under which the hub knows the worker."""
        uid = hub_uid(seen.obj)
        if holds(seen.new, "Admitted"):
            self._admitted[seen.cluster, uid] = float("inf")
        elif holds(seen.old, "Admitted"):
            self._admitted[seen.cluster, uid] = seen.at
        if asks_to_preempt(seen.new):
            self._asked.add(str(seen.obj["metadata"]["uid"]))
        if gate_is_open(seen.new) and seen.old is not None and not gate_is_open(seen.old):
            self._check_opening(seen, uid, names)
            self._check_reasons(seen, names)
        elif seen.cluster in self._ungated and seen.old is None and seen.by_daemon:
            self._check_opening(seen, uid, names)

    def note_decision(self, process: str, opened: list[str], now: float) -> None:
        """Take what a process decided to open."""
        for worker in opened:
            self._decided[process, worker] = now

    def look(self, now: float, hub: Iterable[Obj], replicas: dict[str, list[Obj]]) -> None:
        """Look at all admissions: the hub must be told of them."""
        waiting = {str(each["metadata"]["uid"]): each for each in hub if _waits(each)}
        told = {}
        for cluster, copies in replicas.items():
            for copy in copies:
                key = (hub_uid(copy), cluster)
                if key[0] in waiting and holds(copy, "Admitted") and "deletionTimestamp" not in copy["metadata"]:
                    told[key] = self._untold.get(key, now)
                    self._check_lag(waiting[key[0]], cluster, now - max(told[key], self._calm_since(cluster, now)))
        self._untold = told

    def _calm_since(self, cluster: str, now: float) -> float:
        return max(self._troubles.calm_since(each, now) for each in (cluster, "hub", "daemons"))

    def _check_lag(self, workload: Obj, cluster: str, seconds: float) -> None:
        if seconds > _TOLD_SECONDS:
            name = workload["metadata"]["name"]
            self._violate("admissions are told", f"{name} is admitted on {cluster} and not on the hub")

    def forget(self, cluster: str, at: float) -> None:
        """Take note that a cluster was set back: what it admitted may be gone."""
        for (each, uid), until in self._admitted.items():
            if each == cluster and until > at:
                self._admitted[each, uid] = at

    def _check_opening(self, seen: Seen, uid: str, names: list[str]) -> None:
        key = (uid, self._attempts.get(uid, 0))
        earlier = self._opened.setdefault(key, [])
        if seen.by_daemon:
            self.openings += 1
            for other in earlier:
                seconds = seen.at - other.at
                if other.cluster != seen.cluster and other.author.startswith("daemon") and seconds < self._timeout:
                    text = f"{seen.name}: gate of {seen.cluster} opened {seconds:.3f} s after that of {other.cluster}"
                    self._violate("one cluster per timeout", text)
            goes_nowhere_else = seen.old is None and seen.name.startswith(SERVING)
            if not goes_nowhere_else and not self._recorded.get(uid, set()) & {*names}:
                self._violate("record before opening", f"{seen.name}: gate of {seen.cluster} opened without a record")
        earlier.append(_Opened(seen.cluster, self._began(seen, earlier), seen.author))

    def _began(self, seen: Seen, earlier: list[_Opened]) -> float:
        """Return when the window of an opening began; what a restored cluster had closed is opened again within it."""
        own = [other.at for other in earlier if other.cluster == seen.cluster and seen.at - other.at < self._timeout]
        was_reverted = seen.by_daemon and self._troubles.was_set_back_within(
            seen.cluster, min(own, default=0.0), seen.at
        )
        return min(own) if own and was_reverted else seen.at

    def _check_reasons(self, seen: Seen, names: list[str]) -> None:
        if not seen.by_daemon:
            return
        if str(seen.obj["metadata"]["uid"]) not in self._asked:
            self._violate(
                "opened for a reason", f"{seen.name}: gate of {seen.cluster} opened, and nothing asked for it"
            )
        decided = max((self._decided.get((seen.author, name), -1e9) for name in names), default=-1e9)
        if seen.at - decided > self._timeout + _CARRIED_OUT:
            text = f"{seen.name}: gate of {seen.cluster} opened without a decision of {seen.author}"
            self._violate("opened for a reason", text)

    def _check_admission(self, seen: Seen, uid: str) -> None:
        until = max((at for (_, each), at in self._admitted.items() if each == uid), default=None)
        if until is None or until < seen.at - _LAG:
            self._violate("ready only if admitted", f"{seen.name}: Ready on the hub, and no worker has admitted it")


def _is_ready(workload: Obj | None) -> bool:
    checks = ((workload or {}).get("status") or {}).get("admissionChecks") or ()
    return any(check["name"] == CHECK and check["state"] == "Ready" for check in checks)


def _waits(workload: Obj) -> bool:
    """Tell whether a Workload waits for a worker and for nothing else."""
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    is_ready = all(check["state"] == "Ready" for check in checks if check["name"] != CHECK)
    is_pending = any(check["name"] == CHECK and check["state"] == "Pending" for check in checks)
    return is_ready and is_pending and holds(workload, "QuotaReserved") and not holds(workload, "Evicted")


def _recorded_clusters(workload: Obj) -> set[str]:
    try:
        return {str(entry["cluster"]) for entry in json.loads(annotation(workload, marks.GATE_OPENINGS) or "[]")}
    except (LookupError, TypeError, ValueError):
        return set()
