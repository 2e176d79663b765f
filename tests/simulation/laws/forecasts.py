"""Forecasts: what a daemon calls exact came true, by what the worker's Kueue did."""

import json
from collections.abc import Callable

from config.api.meta import Obj
from gates.model import marks
from tests.simulation.laws.facts import Seen, annotation, gate_is_open, holds


class ForecastLaws:
    """A wrong forecast is never reported as exact."""

    def __init__(self, violate: Callable[[str, str], None]) -> None:
        self._violate = violate
        self._victims: dict[tuple[str, str], set[str]] = {}
        """UIDs of the Workloads that were preempted on a worker, by the UID of the one that preempted them."""
        self._with_quota: set[str] = set()
        """UIDs of replicas that have had quota."""
        self.exact = 0

    def see_worker(self, seen: Seen) -> None:
        """Take a change of any Workload of a worker."""
        if seen.new is None:
            return
        uid = str(seen.new["metadata"]["uid"])
        if holds(seen.new, "QuotaReserved"):
            self._with_quota.add(uid)
        if gate_is_open(seen.new) and not gate_is_open(seen.old):
            self._victims.pop((seen.cluster, uid), None)  # a record is about one opening
        if holds(seen.new, "Preempted") and not holds(seen.old, "Preempted"):
            preemptor = _preemptor(seen.new)
            self._victims.setdefault((seen.cluster, preemptor), set()).add(uid)

    def see_hub(self, seen: Seen, clusters: dict[str, str]) -> None:
        """Take a change of a hub Workload; `clusters` are the clusters to which the names of workers lead."""
        if seen.new is None or not seen.by_daemon:
            return
        text = annotation(seen.new, marks.FORECAST)
        if not text or (seen.old is not None and text == annotation(seen.old, marks.FORECAST)):
            return
        record = json.loads(text)
        if record.get("result") == "exact":
            self.exact += 1
            self._check(seen, record, clusters.get(record["cluster"], record["cluster"]))

    def _check(self, seen: Seen, record: Obj, cluster: str) -> None:
        replica = str(record["replicaUID"])
        expected = {str(victim["uid"]) for victim in record["victims"] if not victim.get("inFlight")}
        happened = self._victims.get((cluster, replica), set()) | self._victims.get((f"{cluster}'", replica), set())
        cannot = record["verdict"] == "Cannot"
        if cannot != (replica not in self._with_quota) or (not cannot and expected != happened):
            text = f"{seen.name} on {cluster}: {record['verdict']} {sorted(expected)}, happened: {sorted(happened)}"
            self._violate("forecasts are honest", text)


def _preemptor(victim: Obj) -> str:
    """Return the UID that Kueue names in the message of the condition."""
    conditions = victim["status"]["conditions"]
    message = next(each["message"] for each in conditions if each["type"] == "Preempted")
    return str(message.partition("(UID: ")[2].partition(",")[0].partition(")")[0])
