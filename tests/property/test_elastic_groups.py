"""Whatever a tenant makes of the groups of an elastic job: what runs never exceeds a pod set that has quota.

The oracle looks at the raw objects alone: how many pods Ray and the Job controller would make of the worker's copy.
"""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.identifiers import ClusterUID
from gates.jobs.copying import remote_job
from gates.jobs.kinds import SHIPPED
from gates.jobs.records import job_reader
from gates.jobs.syncing import JobContext, forwarded, sync_member
from gates.model import marks
from gates.model.marks import HubIdentity
from gates.model.view import JobSync

Obj = dict[str, Any]

US = HubIdentity("origin", ClusterUID("hub"))
KINDS = {kind.kind: kind for kind in SHIPPED}
NAMES = ("cpu", "gpu", "GPU", "spot")

numbers = st.integers(0, 6)
group_fields = st.fixed_dictionaries(
    {"groupName": st.sampled_from(NAMES)},
    optional={
        "replicas": st.none() | numbers,
        "numOfHosts": st.none() | st.integers(0, 3),
        "minReplicas": st.none() | st.integers(0, 4),
        "maxReplicas": st.none() | numbers,
    },
)
group_lists = st.lists(group_fields, max_size=4)
quotas = st.dictionaries(st.sampled_from(("head", "cpu", "gpu", "spot", "main")), st.integers(0, 12), max_size=4)


def ray(groups: list[Obj]) -> Obj:
    return _object("RayCluster", {"managedBy": "kueue.x-k8s.io/multikueue", "workerGroupSpecs": deepcopy(groups)})


def job(**spec: Any) -> Obj:
    return _object("Job", {"managedBy": "kueue.x-k8s.io/multikueue", "template": {}, **spec})


def _object(kind: str, spec: Obj) -> Obj:
    metadata = {"name": "j", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    return {"kind": kind, "metadata": {**metadata, "annotations": {marks.ELASTIC: "true"}}, "spec": spec}


def running(raw: Obj) -> dict[str, int]:
    """Return how many pods a worker makes of each pod set of the copy."""
    if raw["kind"] == "Job":
        parallelism, completions = raw["spec"].get("parallelism"), raw["spec"].get("completions")
        wanted = 1 if parallelism is None else parallelism
        return {"main": wanted if completions is None else min(wanted, completions)}
    found: dict[str, int] = {}
    for group in raw["spec"]["workerGroupSpecs"]:
        replicas = 1 if group.get("replicas") is None else group["replicas"]
        replicas = max(replicas, group.get("minReplicas") or 0)
        name = group["groupName"].lower()
        found[name] = found.get(name, 0) + replicas * max(1, group.get("numOfHosts") or 0)
    return found


def apply(raw: Obj, operations: list[Obj]) -> Obj:
    """Apply a JSON patch as an API server does; only the operations that forwarding uses."""
    patched = deepcopy(raw)
    for operation in operations:
        *steps, last = [s.replace("~1", "/").replace("~0", "~") for s in operation["path"].split("/")[1:]]
        target: Any = patched
        for step in steps:
            target = target[int(step)] if isinstance(target, list) else target.setdefault(step, {})
        if operation["op"] == "remove":
            del target[last]
        else:
            target[last] = operation["value"]
    return patched


def synchronise(kind: str, hub: Obj, remote: Obj | None, quota: dict[str, int]) -> Obj | None:
    """Return the worker's copy after one synchronisation for a Workload with that quota."""
    row = KINDS[kind]
    read_hub, read_remote = job_reader(row, on_hub=True), job_reader(row)
    context = JobContext("wl", quota, "2026-01-01T00:00:00Z")
    here, there = read_hub(hub), read_remote(remote) if remote is not None else None
    found = sync_member(row, here, there, context)
    if found.sync is JobSync.CREATE:
        made = remote_job(row, hub, "wl", US)
        made["metadata"] |= {"uid": "r", "resourceVersion": "1"}
        return made
    if remote is not None and there is not None and found.sync is JobSync.FORWARD:
        return apply(remote, forwarded(row, here, there, context) or [])
    return remote


def check(kind: str, states: list[Obj], quotas_in_turn: list[dict[str, int]]) -> None:
    remote: Obj | None = None
    for hub, quota in zip(states, quotas_in_turn, strict=False):
        before = running(remote) if remote is not None else {}
        remote = synchronise(kind, hub, remote, quota)
        for name, pods in running(remote).items() if remote is not None else ():
            assert pods <= max(quota.get(name, 0), before.get(name, 0))


@settings(max_examples=400, deadline=None)
@given(st.lists(group_lists, min_size=1, max_size=4), st.lists(quotas, min_size=4, max_size=4))
def test_S3_no_group_of_a_ray_cluster_grows_beyond_its_pod_set(states: list[list[Obj]], given: list[Any]) -> None:
    check("RayCluster", [ray(groups) for groups in states], given)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.none() | numbers, st.none() | numbers), min_size=1, max_size=4),
    st.lists(quotas, min_size=4, max_size=4),
)
def test_S3_no_elastic_job_grows_beyond_its_pod_set(
    states: list[tuple[int | None, int | None]], given: list[Any]
) -> None:
    check("Job", [job(parallelism=parallelism, completions=most) for parallelism, most in states], given)


@settings(max_examples=200, deadline=None)
@given(st.lists(group_fields, max_size=3, unique_by=lambda group: str(group["groupName"]).lower()))
def test_S3_what_has_quota_is_taken_over(groups: list[Obj]) -> None:
    """The other half: with quota for all of it, an elastic job reaches the size that the hub's has."""
    hub = ray(groups)
    smallest = ray([{**group, "replicas": 0, "numOfHosts": 1, "minReplicas": 0} for group in groups])
    remote = synchronise("RayCluster", smallest, None, {"cpu": 0, "gpu": 0, "spot": 0})
    assert remote is not None
    remote = synchronise("RayCluster", hub, remote, running(ray(groups)))
    assert remote is not None
    assert sizes(remote) == sizes(hub)


def sizes(raw: Obj) -> dict[str, tuple[int, int]]:
    """Return replicas and hosts of each group as Kueue counts them, whether they are filled in or left out."""
    return {
        group["groupName"].lower(): (
            1 if group.get("replicas") is None else group["replicas"],
            max(1, group.get("numOfHosts") or 0),
        )
        for group in raw["spec"]["workerGroupSpecs"]
    }


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.lists(group_fields, max_size=4, unique_by=lambda group: str(group["groupName"]).lower()),
        min_size=2,
        max_size=4,
    )
)
def test_S3_what_is_taken_away_on_the_hub_stops_on_the_worker(states: list[list[Obj]]) -> None:
    """Kueue gives quota back as soon as the hub's job is smaller: groups that shrink, are renamed, or are dropped."""
    remote: Obj | None = None
    for groups in states:
        hub = ray(groups)
        quota = {name: replicas * hosts for name, (replicas, hosts) in sizes(hub).items()}
        remote = synchronise("RayCluster", hub, remote, quota)
        for name, pods in running(remote).items() if remote is not None else ():
            assert pods <= quota.get(name, 0)


@settings(max_examples=200, deadline=None)
@given(st.lists(group_lists, min_size=1, max_size=3), st.lists(quotas, min_size=4, max_size=4))
def test_S3_a_worker_that_fills_in_what_is_left_out_is_not_told_again(
    states: list[list[Obj]], given: list[Any]
) -> None:
    """Another synchronisation changes nothing more, whatever the worker puts in place of fields that are left out."""
    remote: Obj | None = None
    for groups, quota in zip(states, given, strict=False):
        hub = ray(groups)
        for _ in range(2):
            remote = synchronise("RayCluster", hub, remote, quota)
            for group in remote["spec"]["workerGroupSpecs"] if remote is not None else ():
                group["numOfHosts"] = max(1, group.get("numOfHosts") or 0)
                if group.get("replicas") is None:
                    group["replicas"] = 1
        before = deepcopy(remote)
        assert synchronise("RayCluster", hub, remote, quota) == before
