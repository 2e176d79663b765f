"""What operators do, on the hub and on workers."""

from typing import Final

from config.api.meta import Obj
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.model import marks
from localcluster.sample_queues import NAMESPACE
from tests.simulation.clusters import SimulatedCluster
from tests.simulation.events.kind import EventKind, a_worker, lasting, once
from tests.simulation.laws.facts import FOREIGN, ORIGIN
from tests.simulation.plan import Event
from tests.simulation.processes import SYSTEM
from tests.simulation.system import System
from tests.support.job_builder import job

_FOREIGN_JOB: Final = "job-0"


def _unlist(system: System, event: Event) -> None:
    system.list_workers([name for name in system.listed if name != event.target] or system.listed)


def _list_again(system: System, _event: Event) -> None:
    system.list_workers(system.listed)


def _rename(system: System, event: Event) -> None:
    """Give a worker another name, as an operator does it: a new object first, then the list, then the old one goes."""
    old, new = event.target, f"{event.target}-new"
    if old not in system.listed:
        return
    source = {"kubeConfig": {"location": old, "locationType": "Secret"}}
    system.hub.create("multikueueclusters", {"metadata": {"name": new}, "spec": {"clusterSource": source}})
    system.listed[system.listed.index(old)] = new
    system.names[new] = system.names[old]
    system.list_workers(system.listed)
    if event.value == "delete":
        system.hub.delete("multikueueclusters", old)


def _add_second_name(system: System, event: Event) -> None:
    source = {"kubeConfig": {"location": event.target, "locationType": "Secret"}}
    name = f"{event.target}-second"
    system.hub.create("multikueueclusters", {"metadata": {"name": name}, "spec": {"clusterSource": source}})
    system.names[name] = system.names[event.target]


def _replace_worker(system: System, event: Event) -> None:
    system.replace_worker(event.target)


def _rotate(system: System, event: Event) -> None:
    """Give out another token; the old one stays good."""
    cluster = system.cluster(event.target)
    cluster.rotate_token()
    content = cluster.kubeconfig_base64()
    system.hub.change("secrets", event.target, SYSTEM, lambda secret: secret.update(data={"kubeconfig": content}))


def _renew(system: System, event: Event) -> None:
    """Give out another token; a restored hub may come back to the old one, which is good again by then."""
    _rotate(system, event)
    system.cluster(event.target).endpoint.expired.clear()


def _expire(system: System, event: Event) -> None:
    """Let the token expire before an operator gives out another one."""
    system.cluster(event.target).expire_token()


def _open_gate(system: System, event: Event) -> None:
    cluster = system.cluster(event.target)

    def opened(obj: Obj) -> None:
        for gate in obj.get("status", {}).get("preemptionGates", ()):
            if gate["name"] == MULTIKUEUE_NAME:
                gate.update(position="Open", lastTransitionTime=_time(cluster))

    for obj in system.ours(cluster, "workloads")[:1]:
        name = obj["metadata"]["name"]
        cluster.change("workloads", name, NAMESPACE, opened, subresource="status", author="operators")


def _delete_copy(system: System, event: Event) -> None:
    cluster = system.cluster(event.target)
    for obj in system.ours(cluster, event.value)[:1]:
        cluster.delete(event.value, obj["metadata"]["name"], NAMESPACE, author="operators")


def _put_foreign_job(system: System, event: Event) -> None:
    """Create a job that bears the name of one of the hub's, which therefore cannot be created there."""
    builder = job(_FOREIGN_JOB).with_metadata(namespace=NAMESPACE, labels={FOREIGN: "true"}).with_spec(suspend=True)
    system.cluster(event.target).create("jobs", builder.raw, NAMESPACE, author="operators")


def _remove_foreign_job(system: System, event: Event) -> None:
    cluster = system.cluster(event.target)
    found = cluster.find("jobs", _FOREIGN_JOB, NAMESPACE)
    if found is not None and FOREIGN in (found["metadata"].get("labels") or {}):
        cluster.delete("jobs", _FOREIGN_JOB, NAMESPACE, author="operators")


def _put_copy_of_another_hub(system: System, event: Event) -> None:
    """Create what another hub leaves on a worker that it shares, with the same origin by mistake."""
    cluster = system.cluster(event.target)
    metadata = {
        "name": f"foreign-{int(system.loop.time() * 1000)}",
        "labels": {FOREIGN: "true", ORIGIN_LABEL: ORIGIN},
        "annotations": {
            marks.HUB: "11111111-2222-3333-4444-555555555555",
            marks.HUB_UID: "66666666-7777-8888-9999-000000000000",
            marks.CLUSTER: event.target,
        },
    }
    container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": "1"}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"active": False, "podSets": [pod_set]}
    cluster.create("workloads", {"metadata": metadata, "spec": spec}, NAMESPACE, author="operators")


def _time(cluster: SimulatedCluster) -> str:
    return cluster.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


OPERATORS: Final = {
    "worker is unlisted": EventKind(lasting("worker is unlisted", a_worker), _unlist, _list_again),
    "worker is renamed": EventKind(once("worker is renamed", a_worker, ("delete", "")), _rename),
    "worker gets a second name": EventKind(once("worker gets a second name", a_worker), _add_second_name),
    "worker is replaced": EventKind(once("worker is replaced", a_worker), _replace_worker),
    "credentials are rotated": EventKind(once("credentials are rotated", a_worker), _rotate),
    "token expires": EventKind(lasting("token expires", a_worker), _expire, _renew),
    "gate is opened by hand": EventKind(once("gate is opened by hand", a_worker), _open_gate),
    "copy is deleted": EventKind(once("copy is deleted", a_worker, ("workloads", "jobs")), _delete_copy),
    "foreign job is in the way": EventKind(
        lasting("foreign job is in the way", a_worker), _put_foreign_job, _remove_foreign_job
    ),
    "another hub uses the worker": EventKind(once("another hub uses the worker", a_worker), _put_copy_of_another_hub),
}
"""Kinds by name."""
