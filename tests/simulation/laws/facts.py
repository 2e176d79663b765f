"""What the laws are judged by: changes on the clusters, with author and true time, and when a worker was away."""

from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.model import marks
from tests.simulation.plan import Event

ORIGIN: Final = "hub-of-the-simulation"
FOREIGN: Final = "example.dev/foreign"
"""A label on objects that operators put on workers, whatever else these say of where they come from."""

RECOVERY_SECONDS: Final = 60.0
"""How long a client may need to come back to a cluster: its back-off, then lists of everything."""
_FOREVER: Final = 1e9
_SHORTEST: Final = 5.0
"""A shorter trouble makes no worker seem lost."""
_SETTING_BACK: Final = ("etcd is restored", "worker is replaced")
_DISTURBING: Final = (
    "partition",
    "worker cut off",
    "worker is unlisted",
    "worker is renamed",
    "worker gets a second name",
    "credentials are rotated",
    "token expires",
    "watches are cut",
    "watches fall silent",
    "watch history is lost",
    "lists are old",
    "foreign job is in the way",
    "objects terminate slowly",
    "worker is replaced",
)


@dataclass(frozen=True)
class Seen:
    """One change of one object."""

    cluster: str
    plural: str
    name: str
    old: Obj | None
    new: Obj | None
    """None when it is gone."""
    author: str
    at: float

    @property
    def by_daemon(self) -> bool:
        """Tell whether a daemon made it."""
        return self.author.startswith("daemon")

    @property
    def obj(self) -> Obj:
        """Return the object as it is, or was last."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(frozen=True)
class Violation:
    """A law that did not hold."""

    law: str
    at: float
    text: str

    def __str__(self) -> str:
        return f"{self.law} at {self.at:.3f} s: {self.text}"


def annotation(obj: Obj, name: str) -> str:
    """Return an annotation."""
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def is_ours(obj: Obj) -> bool:
    """Tell whether an object on a worker comes from the hub."""
    labels = obj["metadata"].get("labels") or {}
    return bool(labels.get(ORIGIN_LABEL) == ORIGIN) and FOREIGN not in labels


def owner_of(obj: Obj) -> str:
    """Return the name of the job that a Workload belongs to."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return str(owners[0]["name"]) if owners else ""


def hub_uid(obj: Obj) -> str:
    """Return the UID of the hub's object that an object on a worker copies."""
    return annotation(obj, marks.HUB_UID)


def holds(obj: Obj | None, condition: str) -> bool:
    """Tell whether a condition is True."""
    conditions = ((obj or {}).get("status") or {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def gate_is_open(obj: Obj | None) -> bool:
    """Tell whether the gate of a replica is open."""
    gates = ((obj or {}).get("status") or {}).get("preemptionGates") or ()
    return any(gate["name"] == MULTIKUEUE_NAME and "Open" in gate.values() for gate in gates)


def asks_to_preempt(workload: Obj | None) -> bool:
    """Tell whether Kueue says that a Workload waits for its gate, in either spelling."""
    conditions = ((workload or {}).get("status") or {}).get("conditions") or ()
    return any(each["status"] == "True" and each.get("reason") == "PreemptionGated" for each in conditions)


def is_running(job: Obj | None, plural: str) -> bool:
    """Tell whether a job was started and not told to stop; sets of groups start when they are created."""
    if job is None or "deletionTimestamp" in job["metadata"] or job["spec"].get("suspend"):
        return False
    if plural != "jobs":
        return True
    is_over = holds(job, "Complete") or holds(job, "Failed")
    return bool((job.get("status") or {}).get("active")) and not is_over


class Troubles:
    """When each worker was in trouble, by what happened from outside."""

    def __init__(self, lost: float) -> None:
        self._lost = lost
        self._intervals: dict[str, list[tuple[float, float]]] = {}
        self._set_back: dict[str, list[float]] = {}
        self._deleted: dict[str, list[float]] = {}
        """When copies on a worker were given up by an operator."""
        self._begun_again: dict[str, list[float]] = {}
        """When a user took a job's Workload away, by job."""

    def was_set_back(self, cluster: str) -> bool:
        """Tell whether a cluster forgot or repeated something."""
        return bool(self._set_back.get(cluster.rstrip("'")))

    def was_set_back_within(self, cluster: str, since: float, until: float) -> bool:
        """Tell whether that happened in this time."""
        return any(since <= at <= until for at in self._set_back.get(cluster.rstrip("'"), ()))

    def lost_copies(self, cluster: str, since: float, until: float) -> bool:
        """Tell whether an operator deleted copies on a worker or unlisted it, and with that lost the news of an end."""
        return any(since <= at <= until for at in self._deleted.get(cluster.rstrip("'"), ()))

    def was_begun_again(self, job: str, since: float, until: float) -> bool:
        """Tell whether a user made Kueue start a job again in this time."""
        return any(since <= at <= until for at in self._begun_again.get(job, ()))

    def was_lost(self, cluster: str, since: float, until: float) -> bool:
        """Tell whether a worker was away for `workerLostTimeout` in this time, with what it took to come back."""
        return any(
            end - begin >= _SHORTEST
            and end - begin + RECOVERY_SECONDS >= self._lost
            and end >= since
            and begin <= until
            for begin, end in self._merged(cluster.rstrip("'"))
        )

    def calm_since(self, cluster: str, at: float) -> float:
        """Return when the last trouble of a cluster was over, `at` if it is not."""
        ends = [end for begin, end in self._merged(cluster.rstrip("'")) if begin <= at]
        return min(max(ends, default=0.0), at)

    def note(self, event: Event) -> None:
        """Take an event that begins."""
        target = event.target.rpartition(">")[2]
        begin, end = event.at, event.at + event.seconds
        if event.target.startswith("daemon"):
            self._intervals.setdefault("daemons", []).append((begin, end))
        if event.kind in ("Workload is deleted", "Workload is deactivated"):
            self._begun_again.setdefault(event.target, []).append(begin)
        if event.kind in ("copy is deleted", "worker is unlisted"):
            self._deleted.setdefault(target, []).append(begin)
        if event.kind in _SETTING_BACK:
            self._set_back.setdefault(target, []).append(end)
            end = _FOREVER if event.kind == "worker is replaced" else end
        elif not event.kind.startswith("wire") and event.kind not in _DISTURBING:
            return
        self._intervals.setdefault(target, []).append((begin, end))

    def _merged(self, cluster: str) -> list[tuple[float, float]]:
        merged: list[tuple[float, float]] = []
        for begin, end in sorted(self._intervals.get(cluster, ())):
            if merged and begin <= merged[-1][1] + RECOVERY_SECONDS:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((begin, end))
        return merged
