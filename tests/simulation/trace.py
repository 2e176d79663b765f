"""What happened in a history, line by line and in true time, from whatever can be seen from outside."""

from collections.abc import Callable
from hashlib import sha256

from config.api.meta import Obj
from localcluster.store.ledger import Change, ChangeType, Collection
from tests.simulation.wire import AUTHOR

_SHOWN = ("workloads", "jobs", "leases", "multikueueclusters", "multikueueconfigs", "admissionchecks")


class Trace:
    """The lines of one history."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.lines: list[str] = []

    def add(self, actor: str, text: str) -> None:
        """Add a line."""
        self.lines.append(f"{self._time():10.3f}  {actor:<14} {text}")

    def listener(self, cluster: str) -> Callable[[Collection, Change], None]:
        """Return what takes the changes of a cluster."""

        def note(collection: Collection, change: Change) -> None:
            plural = collection.kind.plural
            if plural in _SHOWN and not collection.kind.alias:
                name = change.new.key[1]
                self.add(
                    cluster, f"{change.type} {plural}/{name} by {AUTHOR.get() or '?'}: {described(plural, change)}"
                )

        return note

    def digest(self) -> str:
        """Return what two equal traces have in common."""
        return sha256("\n".join(self.lines).encode()).hexdigest()[:16]


def described(plural: str, change: Change) -> str:
    """Return what of an object is of interest."""
    if change.type is ChangeType.DELETED:
        return f"rv {change.revision}"
    obj = change.new.obj
    parts = [f"rv {change.revision}"]
    if "deletionTimestamp" in obj["metadata"]:
        parts.append("terminating")
    if plural == "workloads":
        parts += _workload_parts(obj)
    elif plural == "jobs":
        status = obj.get("status") or {}
        parts.append("suspended" if obj["spec"].get("suspend") else "unsuspended")
        parts += [f"active {status['active']}"] if status.get("active") else []
        parts += [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
    elif plural == "leases":
        parts.append(f"held by {obj['spec'].get('holderIdentity')}")
    elif plural == "multikueueconfigs":
        parts.append(str(obj["spec"].get("clusters")))
    return ", ".join(parts)


def _workload_parts(obj: Obj) -> list[str]:
    status = obj.get("status") or {}
    parts = [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
    parts += [f"gate {gate.get('position') or gate.get('state')}" for gate in status.get("preemptionGates", ())]
    parts += [
        f"check {check['state']} ({check.get('message', '')[:160]})" for check in status.get("admissionChecks", ())
    ]
    parts += [f"on {status['clusterName']}"] if status.get("clusterName") else []
    openings = (obj["metadata"].get("annotations") or {}).get("multikueue-turnstile.dev/gate-openings")
    return [*parts, f"openings {openings}"] if openings else parts
