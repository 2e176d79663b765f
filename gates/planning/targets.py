"""Which workers a planned job may go to, and which of them are preferred, by the rules that the daemon goes by."""

from collections.abc import Mapping

from config.api.identifiers import WorkerName
from config.api.quantity import add
from engine.requests.requests import RequestContext, workload_request
from gates.planning.choosing import Prospect
from gates.planning.wanted import Wanted
from gates.targets.affinity import Peer, Peers, group_exclusion, group_preference
from gates.targets.matching import WorkerTraits, exclusion_of, price_of


class PlannedTargets:
    """Says about each worker what the rules of one planned job mean for it."""

    def __init__(self, wanted: Wanted, peers: Peers) -> None:
        self._wanted = wanted
        self._peers = peers
        self._amounts = _amounts(wanted)

    def on(self, name: WorkerName, position: int, traits: WorkerTraits) -> Prospect:
        """Return a worker as the rules see it, before it was asked anything."""
        rules = self._wanted.targets
        # It would be the youngest of its group, so that those that wait are placed before it.
        me = Peer(f"{self._wanted.namespace}/{self._wanted.name}", created_ns=1 << 63, is_waiting=True)
        excluded = exclusion_of(rules, name, traits, len(self._wanted.spec.get("podSets") or ()))
        return Prospect(
            name,
            position,
            exclusion=excluded or group_exclusion(rules, me, self._peers, name),
            group_preference=group_preference(rules, self._peers, name),
            weight=traits.weight,
            price=price_of(self._amounts, traits.prices),
        )


def _amounts(wanted: Wanted) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for pod_set in workload_request({"spec": wanted.spec}, RequestContext()).pod_sets:
        for resource, amount in pod_set.requests.items():
            total[resource] = add(total.get(resource, 0), amount)
    return total
