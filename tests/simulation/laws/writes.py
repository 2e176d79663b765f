"""Writes of daemons: nothing foreign is touched, and only the holder of the Lease writes."""

from collections.abc import Callable

from config.api.meta import Obj
from tests.simulation.laws.facts import Seen, Troubles, is_ours
from tests.simulation.processes import LEASE, SYSTEM
from workerclient.transport.session import Request

_STATUS_ONLY = ("jobs", "leaderworkersets", "multikueueclusters", "admissionchecks")
_LEASE_SECONDS = 20.0


class WriteLaws:
    """Laws 5 and 9."""

    def __init__(
        self, troubles: Troubles, *, elects: bool, holder: Callable[[], str], violate: Callable[[str, str], None]
    ) -> None:
        self._troubles = troubles
        self._elects = elects
        self._holder = holder
        self._violate = violate

    def see_worker(self, seen: Seen) -> None:
        """Take a change on a worker."""
        if seen.by_daemon and not is_ours(seen.old or seen.obj):
            self._violate("nothing foreign", f"{seen.author} changed {seen.plural}/{seen.name} of {seen.cluster}")

    def see_hub(self, seen: Seen) -> None:
        """Take a change on the hub."""
        if not seen.by_daemon or seen.plural == "events":
            return
        if seen.plural in ("leases", "configmaps"):
            is_foreign = seen.obj["metadata"].get("namespace") != SYSTEM
        elif seen.plural in _STATUS_ONLY or seen.plural == "workloads":
            is_foreign = seen.old is None or seen.new is None or _essence(seen.old) != _essence(seen.new)
        else:
            is_foreign = True
        if is_foreign:
            self._violate("nothing foreign", f"{seen.author} changed {seen.plural}/{seen.name} of the hub")

    def see_request(self, process: str, cluster: str, request: Request, now: float) -> None:
        """Take a write whose bytes leave a daemon."""
        if not self._elects or (cluster == "hub" and request.path.endswith(f"/leases/{LEASE.name}")):
            return
        if cluster == "hub" and request.path.endswith("/leases"):
            return
        holder = self._holder()
        if holder != process and not self._troubles.was_set_back_within("hub", now - _LEASE_SECONDS, now):
            what = f"{request.method} {request.path} of {cluster}"
            self._violate("only the leader writes", f"{process} sent {what} while {holder or 'nobody'} held the Lease")


def _essence(obj: Obj) -> Obj:
    """Return what a daemon must not change."""
    own = ("multikueue-turnstile.dev/",)
    metadata = obj["metadata"]
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if not k.startswith(own)}
    kept = {name: metadata.get(name) for name in ("labels", "finalizers", "ownerReferences", "deletionTimestamp")}
    return {"annotations": annotations, "metadata": kept, "spec": obj.get("spec")}
