"""Random preemption situations for a real worker: queues, a crowd that fills them, and a job that needs a place.

Quotas, cohort trees and policies come from the generators that also feed the comparison of the engine with Kueue's own
code. Here they become API objects with names of their own, so that many situations live on one worker side by side.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.names import KUEUE_GROUP
from tests.differential.catalogue import API_VERSION, STEPS, Cluster, Json, Profile, Queue
from tests.differential.dice import Dice, dice
from tests.differential.pods import add_placement, pod_set_names
from tests.differential.quotas import make_cluster
from tests.differential.scenarios import wronged_queue
from tests.differential.workloads import NOW, Sizing, workload
from tests.e2e.expectations import is_likely_to_preempt, settled

PRIORITIES = (-10, 0, 1, 50, 99, 100, 200, 1000, 2**31 - 1)
NOBODY = "example.com/nobody"
"""Manager of jobs that hold quota and make no pods, and that stop as soon as they are told to."""
_PROFILE = Profile(fair_sharing=0, gates=0, symmetry=0.1)
_LARGEST_CROWD = 12
_ARRIVALS = 5
_DRAWN = 20
_MOST_PODS = 8
_SPACES = {"team-a": "a", "team-b": "b"}
_ATTEMPTS = 150
_PAGES = "hugepages-2Mi"
"""A pod may not ask for them without cpu or memory; under another name they are a resource like any other."""
_OVERCOMMITTABLE = {"cpu", "memory", "ephemeral-storage"}


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation; everything in it carries its name."""

    name: str
    namespaces: list[Json]
    flavors: list[Json]
    cohorts: list[Json]
    cluster_queues: list[Json]
    local_queues: list[Json]
    crowd: list[Json]
    """Jobs that are there first, in the order in which they come."""
    arrivals: list[Json]
    """Jobs for the hub, one after the other."""


def situation(name: str, seed: int) -> Situation:
    """Return the situation of a seed."""
    draw = dice("situation", seed, oddness=0)
    cluster = make_cluster(draw, _PROFILE)
    crowd = _crowd(draw, cluster)
    arrivals = _arrivals(draw, cluster, crowd)
    renamed = [_renamed(each, name) for each in cluster.objects]
    return Situation(
        name=name,
        namespaces=_of_kind(renamed, "Namespace"),
        flavors=_of_kind(renamed, "ResourceFlavor"),
        cohorts=_of_kind(renamed, "Cohort"),
        cluster_queues=[_served(each) for each in _of_kind(renamed, "ClusterQueue")],
        local_queues=_of_kind(renamed, "LocalQueue"),
        crowd=[job_of(_renamed(each, name), NOBODY) for each in crowd],
        arrivals=[job_of(_renamed(each, name), f"{KUEUE_GROUP}/multikueue") for each in arrivals],
    )


def _served(queue: Json) -> Json:
    """Return a ClusterQueue that is open to all, with policies of the API: Kueue's code knows one that it lacks."""
    policies = queue["spec"]["preemption"]
    if policies["reclaimWithinCohort"] == "LowerOrNewerEqualPriority":
        policies = {**policies, "reclaimWithinCohort": "LowerPriority"}
    return {**queue, "spec": {**queue["spec"], "preemption": policies, "namespaceSelector": {}, "stopPolicy": "None"}}


def _of_kind(objects: Iterable[Json], kind: str) -> list[Json]:
    return [each for each in objects if each["kind"] == kind]


# --- the crowd


def _crowd(draw: Dice, cluster: Cluster) -> list[Json]:
    """Return waiting workloads that together fill what there is, in few enough pieces for a real cluster."""
    hogs = draw.some(cluster.queues) if draw.chance(0.6) else cluster.queues
    found: list[Json] = []
    for attempt in range(_ATTEMPTS):
        queue = draw.choice(hogs)
        largest = 1 / 3 if attempt < _ATTEMPTS // 2 else 1 / 8
        sizings = [_sizing(draw, cluster, queue, name, largest) for name in pod_set_names(draw)]
        usage = _usage(draw, queue, sizings)
        if all(_free(cluster, queue, key) >= amount for key, amount in usage):
            for key, amount in usage:
                queue.used[key] = queue.used.get(key, 0) + amount
            found.append(workload(draw, queue, f"running-{len(found):02d}", sizings, NOW))
        if len(found) == _LARGEST_CROWD:
            break
    return found


def _capacity(cluster: Cluster, queue: Queue, key: tuple[str, str]) -> int:
    return min(cluster.capacity[queue.root][key], 40 * STEPS[key[1]])


def _free(cluster: Cluster, queue: Queue, key: tuple[str, str]) -> int:
    return _capacity(cluster, queue, key) - cluster.used_below(queue.root, *key)


def _sizing(draw: Dice, cluster: Cluster, queue: Queue, name: str, largest: float) -> Sizing:
    """Ask for a part of what a flavor has below the root, so that a crowd of a dozen fills it."""
    count = draw.weighted({1: 6, 2: 2, 3: 1})
    per_pod = {}
    for resource in queue.covered() if draw.chance(0.6) else draw.some(queue.covered()):
        flavor = draw.choice(queue.group_of(resource).flavors)
        most = int(_capacity(cluster, queue, (flavor, resource)) * largest) // STEPS[resource]
        per_pod[resource] = max(1, draw.randint(1, max(1, most)) // count) * STEPS[resource]
    return Sizing(name, count, per_pod)


def _usage(draw: Dice, queue: Queue, sizings: list[Sizing]) -> list[tuple[tuple[str, str], int]]:
    """Return what they would use on flavors of one choice; real Kueue makes its own."""
    placement = {group.resources[0]: draw.choice(group.flavors) for group in queue.groups}
    total: dict[tuple[str, str], int] = {}
    for sizing in sizings:
        wanted = {name: amount * sizing.count for name, amount in sizing.per_pod.items()} | {"pods": sizing.count}
        for resource in sorted(wanted.keys() & set(queue.covered())):
            key = placement[queue.group_of(resource).resources[0]], resource
            total[key] = total.get(key, 0) + wanted[resource]
    return list(total.items())


# --- the one that needs a place


def _arrivals(draw: Dice, cluster: Cluster, crowd: list[Json]) -> list[Json]:
    """Return those who come one after the other: any one, and some of whom a preemption is to be expected."""
    objects = [_served(each) if each["kind"] == "ClusterQueue" else each for each in cluster.objects]
    running = settled(objects, crowd)
    drawn = [_incoming(draw, cluster, wronged_queue(draw, cluster), f"incoming-{n}") for n in range(_DRAWN)]
    first, *others = drawn
    return [first, *(each for each in others if is_likely_to_preempt(objects, running, each))][:_ARRIVALS]


def _incoming(draw: Dice, cluster: Cluster, queue: Queue, name: str) -> Json:
    """Return a workload that wants more of the scarcest resource than is free, mostly no more than its queue's own."""
    own = {each: _most(queue.nominal, queue, each) // STEPS[each] for each in queue.covered() if each != "pods"}
    possible = [each for each in own if own[each]] or queue.covered()
    contested = min(possible, key=lambda each: (_left(cluster, queue, each) / STEPS[each], each))
    most = own.get(contested, 0) + (draw.randint(1, 4) if draw.chance(0.3) else 0)
    least = min(_left(cluster, queue, contested) // STEPS[contested] + 1, most)
    names, count = pod_set_names(draw), draw.weighted({1: 6, 2: 2, 3: 1, 5: 0.5})
    per_pod = {each: STEPS[each] for each in possible if each == contested or draw.chance(0.25)}
    steps = draw.randint(least, max(least, most))
    per_pod[contested] = max(1, steps // (len(names) * count)) * STEPS[contested]
    result = workload(draw, queue, name, [Sizing(each, count, per_pod) for each in names], NOW)
    result["spec"]["priority"] = draw.choice([0, 50, 100, 200, 200, 200, 1000, 1000])
    for pod_set in result["spec"]["podSets"]:
        if draw.chance(0.3):
            add_placement(draw, pod_set["template"]["spec"], cluster.flavors)
    return result


def _most(amounts: Mapping[tuple[str, str], int], queue: Queue, resource: str) -> int:
    return max(amounts.get((flavor, resource), 0) for flavor in queue.group_of(resource).flavors)


def _left(cluster: Cluster, queue: Queue, resource: str) -> int:
    """Return what is free of all flavors together: which of them have it, Kueue will decide."""
    return sum(max(0, _free(cluster, queue, (flavor, resource))) for flavor in queue.group_of(resource).flavors)


# --- names


def _renamed(raw: Json, name: str) -> Json:
    """Give an object, and what it refers to, names of this situation."""
    raw = json.loads(json.dumps(raw).replace(_PAGES, "example.com/page"))
    metadata = {**raw["metadata"]}
    if raw["kind"] in ("ResourceFlavor", "Cohort", "ClusterQueue"):
        metadata["name"] = f"{name}-{metadata['name']}"
    elif raw["kind"] == "Namespace":
        metadata["name"] = f"{name}-{_SPACES[metadata['name']]}"
    if "namespace" in metadata:
        metadata["namespace"] = f"{name}-{_SPACES[metadata['namespace']]}"
    renamed = {**raw, "metadata": metadata}
    if raw["kind"] in ("Cohort", "ClusterQueue", "LocalQueue"):
        renamed["spec"] = _renamed_quota(raw["spec"], name)
    return renamed


def _renamed_quota(spec: Json, name: str) -> Json:
    renamed = {**spec}
    for reference in ("parentName", "cohortName", "clusterQueue"):
        if reference in spec:
            renamed[reference] = f"{name}-{spec[reference]}"
    if "resourceGroups" in spec:
        renamed["resourceGroups"] = [
            {**group, "flavors": [{**each, "name": f"{name}-{each['name']}"} for each in group["flavors"]]}
            for group in spec["resourceGroups"]
        ]
    return renamed


# --- jobs


def job_of(raw: Json, manager: str) -> Json:
    """Return the job whose Workload looks like this one: a Job, or a JobSet if there are several pod sets."""
    metadata, spec = raw["metadata"], raw["spec"]
    labels = {f"{KUEUE_GROUP}/queue-name": spec["queueName"]}
    if "priority" in spec:
        labels[f"{KUEUE_GROUP}/priority-class"] = priority_class(spec["priority"])
    head = {"name": metadata["name"], "namespace": metadata["namespace"], "labels": labels}
    jobs = [(each["name"], _job_spec(each)) for each in spec["podSets"]]
    if len(jobs) == 1:
        body = {**jobs[0][1], "suspend": True, "managedBy": manager}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": body}
    parts = [{"name": name, "replicas": 1, "template": {"spec": each}} for name, each in jobs]
    body = {"suspend": True, "managedBy": manager, "replicatedJobs": parts}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": head, "spec": body}


def priority_class(value: int) -> str:
    """Return the name of the class of a priority."""
    return f"priority-minus-{-value}" if value < 0 else f"priority-{value}"


def priority_classes() -> list[Json]:
    """Return the classes that the jobs name."""
    kind = {"apiVersion": API_VERSION, "kind": "WorkloadPriorityClass"}
    return [{**kind, "metadata": {"name": priority_class(value)}, "value": value} for value in PRIORITIES]


def _job_spec(pod_set: Json) -> Json:
    count = min(pod_set["count"], _MOST_PODS)
    template = {"spec": _pod_spec(pod_set["template"]["spec"])}
    return {"parallelism": count, "completions": count, "template": template}


def _pod_spec(spec: Json) -> Json:
    """Return what an API server takes: a few shapes of the generator exist only inside of Kueue."""
    kept: Json = {name: spec[name] for name in ("nodeSelector", "affinity", "tolerations") if name in spec}
    for part in ("initContainers", "containers"):
        if part in spec:
            kept[part] = [_container(each) for each in spec[part]]
    return {**kept, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}


def _container(container: Json) -> Json:
    resources = container["resources"]
    requests = resources.get("requests") or resources.get("limits") or {}
    fixed = {name: amount for name, amount in requests.items() if name not in _OVERCOMMITTABLE}
    kept = {"requests": requests, "limits": fixed}
    return {**container, "image": "registry.example/work:1", "resources": kept}
