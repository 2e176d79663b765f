"""A real Kueue that is held while objects are laid before it, and let go until nothing moves any more.

Every ClusterQueue names one flavor that does not exist: that is the hold. Creating it makes all queues active in one
stroke, so a round begins as the engine's simulation does, with everything in place. Before each further round Kueue is
restarted, because what it remembers of earlier tries is in no object.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.api.meta import conditions, is_true
from engine.cycles.simulation import Victims
from tests.realbed import objects
from tests.realbed.apiserver import ApiServer
from tests.realbed.cycles.comparison import Expectation
from tests.realbed.cycles.situations import GATE, Job, Situation, priority_class
from tests.realbed.kueue import Kueue, KueueOptions
from tests.realbed.processes import wait_until
from tests.support.builders import Json, cluster_queue, flavor, namespace

_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_MERGE = "application/merge-patch+json"
_DEADLINE_SECONDS = 240.0
_PROBE = "probe"
_QUIET_PROBES = 5
#: Kueue looks again at parked workloads once a second at most.
_QUIET_SECONDS = 2.5


@dataclass
class Stage:
    """Situations on one cluster, all in the same round."""

    server: ApiServer
    kueue: Kueue
    situations: Mapping[str, Situation]
    """By the prefix of everything that belongs to them."""
    hold: str
    options: KueueOptions
    _probes: int = 0

    def build(self) -> None:
        """Create queues and namespaces, held."""
        self.kueue.restart(self.options)
        queue = cluster_queue(_PROBE).quota(_PROBE, cpu=10_000)
        local = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "spec": {"clusterQueue": _PROBE}}
        local["metadata"] = {"name": _PROBE, "namespace": _PROBE}
        objects.apply(self.server, [namespace(_PROBE).raw, flavor(_PROBE).raw, queue.raw, local])
        objects.apply(self.server, map(_priority_class, sorted(self._priorities())))
        for prefix, situation in self.situations.items():
            objects.apply(self.server, [namespace(prefix).raw, *situation.objects_in(prefix, self.hold)])
        self._until(self._is_held, "all queues to be held")

    def prepare(self, number: int) -> None:
        """Do what a round begins with, and return when Kueue has taken note of all of it."""
        if number > 0:
            self.take_hold()
            self.kueue.restart(self.options)
        rounds = {prefix: each.rounds[number] for prefix, each in self.situations.items() if len(each.rounds) > number}
        self._stop_victims([prefix for prefix, each in rounds.items() if each.victims_stop])
        for prefix, each in rounds.items():
            for name in each.opens:
                self._open_gate(prefix, name)
        self._submit({prefix: each.jobs for prefix, each in rounds.items()})
        self._until(self._is_held, "all queues to be held")
        self._until(self._knows_who_waits, "Kueue to count who waits")

    def let_go(self) -> None:
        """Let Kueue schedule."""
        self._ok("POST", f"{_KUEUE}/resourceflavors", flavor(self.hold).raw)

    def until_quiet(self, expected: Mapping[str, Expectation]) -> Mapping[str, list[Json]]:
        """Return the Workloads by situation once nothing moves; where one is not as expected, more time is given."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while True:
            found = self._quiet_workloads()
            is_expected = not any(each.difference(found[prefix]) for prefix, each in expected.items())
            if is_expected or time.monotonic() > deadline:
                return found

    def everything(self) -> dict[str, list[Json]]:
        """Return all objects of each situation, as they are now."""
        found: dict[str, list[Json]] = {prefix: [] for prefix in self.situations}
        for plural in ("resourceflavors", "cohorts", "clusterqueues", "localqueues", "workloads"):
            for raw in self._list(f"{_KUEUE}/{plural}"):
                metadata = raw["metadata"]
                prefix = metadata.get("namespace") or metadata["name"].partition("-")[0]
                if prefix in found:
                    found[prefix].append(raw)
        for raw in self._list("/api/v1/namespaces"):
            if raw["metadata"]["name"] in found:
                found[raw["metadata"]["name"]].append({"apiVersion": "v1", "kind": "Namespace", **raw})
        return found

    # --- hold

    def take_hold(self) -> None:
        """Let Kueue schedule no more."""
        path = f"{_KUEUE}/resourceflavors/{self.hold}"
        self._ok("DELETE", path)
        # Kueue keeps a flavor as long as queues name it; that is for administrators to overrule.
        self._ok("PATCH", path, {"metadata": {"finalizers": None}})
        self._until(self._is_held, "all queues to be held")

    def _is_held(self) -> bool:
        queues = self._queues()
        return all(not is_true(conditions(raw), "Active") and conditions(raw) for raw in queues)

    def _knows_who_waits(self) -> bool:
        """Return whether Kueue counts all that wait, and has said of each that its queue is held."""
        waiting: Counter[tuple[str, str]] = Counter()
        for raw in self._workloads():
            if not is_true(conditions(raw), "QuotaReserved"):
                if "QuotaReserved" not in conditions(raw):
                    return False
                waiting[raw["metadata"]["namespace"], raw["spec"]["queueName"]] += 1
        return all(
            (raw.get("status") or {}).get("pendingWorkloads", 0) == waiting[prefix, queue]
            for raw in self._queues()
            for prefix, _, queue in [raw["metadata"]["name"].partition("-")]
        )

    # --- jobs

    def _submit(self, jobs: Mapping[str, Sequence[Job]]) -> None:
        """Create jobs; those of one situation in different seconds, since that is how exact Kueue's order is."""
        for number in range(max(map(len, jobs.values()), default=0)):
            batch = {prefix: each[number] for prefix, each in jobs.items() if len(each) > number}
            for prefix, job in batch.items():
                self._create(job.document(prefix))
            self._until(lambda batch=batch: self._has_workloads(batch), "the Workloads of new jobs")  # type: ignore[misc]
            second = int(time.time())
            wait_until(lambda second=second: int(time.time()) > second, seconds=5, what="the next second")  # type: ignore[misc]
        for prefix, each in jobs.items():
            for job in each:
                if self.situations[prefix].victims is Victims.TERMINATING and not job.is_gated:
                    self._report_active(prefix, job.name, 1)
                if job.boost is not None:
                    self._boost(prefix, job)

    def _has_workloads(self, batch: Mapping[str, Job]) -> bool:
        found = {(raw["metadata"]["namespace"], _job_of(raw)) for raw in self._workloads()}
        return all((prefix, job.name) in found for prefix, job in batch.items())

    def _stop_victims(self, prefixes: Iterable[str]) -> None:
        stopping = set(prefixes)

        def victims() -> list[Json]:
            return [
                raw
                for raw in self._workloads()
                if raw["metadata"]["namespace"] in stopping
                and raw["metadata"].get("ownerReferences")
                and is_true(conditions(raw), "Evicted")
                and is_true(conditions(raw), "QuotaReserved")
            ]

        for raw in victims():
            self._report_active(raw["metadata"]["namespace"], _job_of(raw), 0)
        self._until(lambda: not victims(), "evicted jobs to give their quota back")

    def _report_active(self, prefix: str, job: str, pods: int) -> None:
        path = f"/apis/batch/v1/namespaces/{prefix}/jobs/{job}/status"
        self._ok("PATCH", path, {"status": {"active": pods, "ready": 0}})

    def _boost(self, prefix: str, job: Job) -> None:
        annotations = {"kueue.x-k8s.io/priority-boost": str(job.boost)}
        for raw in self._workloads():
            if (raw["metadata"]["namespace"], _job_of(raw)) == (prefix, job.name):
                self._ok("PATCH", _path(raw), {"metadata": {"annotations": annotations}})

    def _open_gate(self, prefix: str, name: str) -> None:
        path = f"{_KUEUE}/namespaces/{prefix}/workloads/{name}"
        status, found = self.server.call("GET", path)
        assert status == 200, found
        gate = {"name": GATE, "position": "Open", "lastTransitionTime": found["metadata"]["creationTimestamp"]}
        self._ok("PATCH", f"{path}/status", {"status": {"preemptionGates": [gate]}})

    # --- quiet

    def _quiet_workloads(self) -> dict[str, list[Json]]:
        """Return the Workloads by situation once several cycles and more than a second changed none of them."""
        last, probes, since = self._versions(), 0, time.monotonic()
        while probes < _QUIET_PROBES or time.monotonic() - since < _QUIET_SECONDS:
            self._wait_for_a_cycle()
            probes += 1
            if (now := self._versions()) != last:
                last, probes, since = now, 0, time.monotonic()
        found: dict[str, list[Json]] = {prefix: [] for prefix in self.situations}
        for raw in self._workloads():
            found[raw["metadata"]["namespace"]].append(raw)
        return found

    def _versions(self) -> dict[str, str]:
        return {raw["metadata"]["uid"]: raw["metadata"]["resourceVersion"] for raw in self._workloads()}

    def _wait_for_a_cycle(self) -> None:
        """Let Kueue admit a workload that has a queue to itself: the cycle that did so tried all other heads too."""
        self._probes += 1
        name = f"{self.hold}-{self._probes}"
        probe = Job(name, _PROBE, is_gated=True).document(_PROBE)
        self._create(probe)
        path = f"{_KUEUE}/namespaces/{_PROBE}/workloads/{name}"
        self._until(lambda: is_true(conditions(self.server.call("GET", path)[1]), "QuotaReserved"), "a cycle")

    # --- requests

    def _workloads(self) -> list[Json]:
        found = self._list(f"{_KUEUE}/workloads")
        return [raw for raw in found if raw["metadata"]["namespace"] in self.situations]

    def _queues(self) -> list[Json]:
        found = self._list(f"{_KUEUE}/clusterqueues")
        return [raw for raw in found if raw["metadata"]["name"].partition("-")[0] in self.situations]

    def _list(self, path: str) -> list[Json]:
        status, reply = self.server.call("GET", path)
        assert status == 200, reply
        return [
            {"apiVersion": reply["apiVersion"], "kind": reply["kind"].removesuffix("List"), **raw}
            for raw in reply["items"]
        ]

    def _create(self, document: Json) -> None:
        path, _, _ = objects.path_of(document).rpartition("/")
        self._ok("POST", path, document)

    def _ok(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        content_type = _MERGE if method == "PATCH" else "application/json"
        status, reply = self.server.call(method, path, body, content_type=content_type)
        assert status in (200, 201), f"{method} {path}: {status} {reply.get('message')}"

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        wait_until(holds, seconds=_DEADLINE_SECONDS, what=what)

    def _priorities(self) -> set[int]:
        return {job.priority for each in self.situations.values() for one in each.rounds for job in one.jobs}


def _priority_class(value: int) -> Json:
    metadata = {"name": priority_class(value)}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": metadata,
        "value": value,
    }


def _job_of(workload: Json) -> str:
    owners = workload["metadata"].get("ownerReferences")
    return str(owners[0]["name"] if owners else workload["metadata"]["name"])


def _path(raw: Json) -> str:
    return f"{_KUEUE}/namespaces/{raw['metadata']['namespace']}/workloads/{raw['metadata']['name']}"
