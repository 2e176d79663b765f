"""Random scenarios with topologies: trees of Nodes, pods on them, Workloads that were placed and others that wait."""

from dataclasses import dataclass, field
from datetime import timedelta

from tests.differential.catalogue import API_VERSION, Json
from tests.differential.dice import Dice, dice
from tests.differential.workloads import NOW, rfc3339

HOSTNAME = "kubernetes.io/hostname"
_NAMESPACE = "team"
_LEVELS = (
    ["block", "rack", HOSTNAME],
    ["rack", HOSTNAME],
    [HOSTNAME],
    ["zone", "block", "rack", HOSTNAME],
    ["block", "rack"],
)
_GATES = {"TASProfileMixed": False, "TASHandleOverlappingFlavors": False}
_STRATEGIES: tuple[list[str], ...] = ([], ["LessThanOrEqualToFinalShare"], ["LessThanInitialShare"])
_MANY_LEAVES = 14


@dataclass(slots=True)
class Fleet:
    """What a scenario is made of so far."""

    draw: Dice
    levels: list[str]
    flavors: list[str]
    objects: list[Json] = field(default_factory=list)
    leaves: list[list[str]] = field(default_factory=list)
    """The values of each leaf, from the highest level down."""
    queues: list[str] = field(default_factory=list)

    @property
    def is_by_hostname(self) -> bool:
        """Whether single Nodes are told apart."""
        return self.levels[-1] == HOSTNAME


def topology_nomination(seed: int) -> Json:
    """Return a scenario with one incoming Workload."""
    draw = dice("topology", seed)
    scenario, fleet = _scenario(draw, f"topology-{seed}")
    incoming = _pending(fleet, "incoming", draw.choice(fleet.queues))
    incoming["spec"]["priority"] = draw.choice([0, 100, 200, 200, 200])
    fleet.objects.append(incoming)
    scenario["incoming"] = {"namespace": _NAMESPACE, "name": "incoming"}
    draw.shuffle(fleet.objects)
    return scenario


def topology_cycles(seed: int) -> Json:
    """Return a scenario with several pending Workloads and a number of cycles to run.

    Without groups: which of their pod sets Kueue names in a message is left to chance.
    """
    draw = dice("topology-cycles", seed)
    scenario, fleet = _scenario(draw, f"topology-cycles-{seed}")
    if scenario["fairSharing"] is not None and draw.chance(0.7):
        scenario["fairSharing"] = None  # the order of trees that share nodes is chance then
    for index in range(draw.randint(2, 6)):
        fleet.objects.append(_pending(fleet, f"pending-{index}", draw.choice(fleet.queues), with_groups=False))
    if draw.chance(0.1):
        scenario["featureGates"]["TASRecomputeAssignmentWithinSchedulingCycle"] = False
    scenario["cycles"] = 6
    return scenario


def _scenario(draw: Dice, name: str) -> tuple[Json, Fleet]:
    flavors = ["f"] if draw.chance(0.7) else ["f", "g"]
    fleet = Fleet(draw, draw.choice(_LEVELS), flavors)
    fleet.objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    levels = [{"nodeLabel": level} for level in fleet.levels]
    fleet.objects.append(_object("Topology", "default", {"levels": levels}))
    for flavor in flavors:
        spec: Json = {"nodeLabels": {"tas": "yes"}, "topologyName": "default"}
        if flavor == "g" and draw.chance(0.5):
            spec["nodeLabels"] = {"tas": "yes", "pool": "b"}
        if draw.chance(0.1):
            spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
        fleet.objects.append(_object("ResourceFlavor", flavor, spec))
    if draw.chance(0.15):
        flavors.append("plain")
        fleet.objects.append(_object("ResourceFlavor", "plain", {}))
    _add_nodes(fleet)
    _add_queues(fleet)
    for index in range(draw.randint(0, 12)):
        _add_running(fleet, f"running-{index}", index)
    fair = {"preemptionStrategies": draw.choice(_STRATEGIES)} if draw.chance(0.3) else None
    gates = {gate: on for gate, on in _GATES.items() if draw.chance(0.05)}
    scenario = {"name": name, "source": "generated", "now": rfc3339(NOW), "fairSharing": fair, "featureGates": gates}
    return {**scenario, "objects": fleet.objects}, fleet


def _add_nodes(fleet: Fleet) -> None:
    draw = fleet.draw
    widths = [draw.randint(1, 3) for _ in fleet.levels]
    paths: list[list[str]] = [[]]
    for level, width in zip(fleet.levels, widths, strict=True):
        size = draw.randint(1, 4) if level == HOSTNAME else width
        paths = [[*path, f"{level[0]}{position}"] for path in paths for position in range(size)]
    for index, path in enumerate(paths[:_MANY_LEAVES]):
        host = f"{draw.choice(['node', 'gpu-pool'])}-{index}"
        values = [*path[:-1], host] if fleet.is_by_hostname else path
        fleet.leaves.append(values)
        for copy in range(1 if fleet.is_by_hostname else draw.randint(1, 2)):
            _add_node(fleet, values, host if copy == 0 else f"{host}-{copy}")
    if draw.chance(0.2):
        fleet.leaves.append([*fleet.leaves[0][:-1], "gone"])


def _add_node(fleet: Fleet, values: list[str], name: str) -> None:
    draw = fleet.draw
    labels = {"tas": "yes", "pool": draw.choice("ab"), **dict(zip(fleet.levels, values, strict=True))}
    if draw.rarely(0.04):
        labels.pop(draw.choice(fleet.levels))
    if draw.rarely(0.05):
        labels["tas"] = "no"
    allocatable = {
        "cpu": draw.choice(["1", "2", "2", "3", "4", "4", "1500m"]),
        "pods": draw.choice(["110"] * 9 + ["2"]),
    }
    if draw.chance(0.3):
        allocatable["example.com/gpu"] = str(draw.randint(0, 4))
    spec: Json = {"unschedulable": True} if draw.rarely(0.04) else {}
    if draw.chance(0.08):
        spec["taints"] = [{"key": "spot", "value": "yes", "effect": draw.choice(["NoSchedule", "PreferNoSchedule"])}]
    ready = {"type": "Ready", "status": draw.choice(["True"] * 24 + ["False"])}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec}
    fleet.objects.append({**node, "status": {"allocatable": allocatable, "conditions": [ready]}})
    if draw.chance(0.2):
        _add_pod(fleet, name)


def _add_pod(fleet: Fleet, node: str) -> None:
    draw = fleet.draw
    metadata: Json = {"name": f"system-{node}", "namespace": "kube-system"}
    if draw.chance(0.15):
        metadata["annotations"] = {"kueue.x-k8s.io/podset-unconstrained-topology": "true"}
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": draw.choice(["500m", "1"])}}}]
    phase = draw.choice(["Running"] * 5 + ["Succeeded"])
    spec = {"nodeName": node, "containers": containers}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    fleet.objects.append({**pod, "status": {"phase": phase}})


def _add_queues(fleet: Fleet) -> None:
    draw = fleet.draw
    for index in range(draw.randint(1, 3)):
        name = f"cq-{'abc'[index]}"
        flavors = [fleet.flavors[0]] if draw.chance(0.6) else draw.some(fleet.flavors)
        covered = ["cpu", "example.com/gpu"] if draw.chance(0.3) else ["cpu"]
        if draw.chance(0.1):
            covered.append("pods")
        amounts = {"cpu": [4, 6, 8, 12, 20, 40], "example.com/gpu": [2, 4, 9], "pods": [4, 9, 40]}
        quotas = [
            {
                "name": flavor,
                "resources": [{"name": each, "nominalQuota": str(draw.choice(amounts[each]))} for each in covered],
            }
            for flavor in flavors
        ]
        preemption = {
            "withinClusterQueue": draw.choice(["Never", *["LowerPriority", "LowerOrNewerEqualPriority"] * 3]),
            "reclaimWithinCohort": draw.choice(["Never", "LowerPriority", "Any"]),
        }
        spec: Json = {
            "namespaceSelector": {},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": covered, "flavors": quotas}],
            "preemption": preemption,
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "stopPolicy": "None",
        }
        if draw.chance(0.6):
            spec["cohortName"] = draw.choice(["pool", "pool", "other"])
        fleet.objects.append(_object("ClusterQueue", name, spec))
        fleet.objects.append(
            _object("LocalQueue", f"lq-{name}", {"clusterQueue": name, "stopPolicy": "None"}, _NAMESPACE)
        )
        fleet.queues.append(name)


def _pending(fleet: Fleet, name: str, queue: str, *, with_groups: bool = True) -> Json:
    draw = fleet.draw
    if with_groups and draw.chance(0.12):
        pod_sets = _group(fleet)
    elif draw.chance(0.15):
        pod_sets = [_pod_set(fleet, "driver", 1), _pod_set(fleet, "workers", draw.randint(1, 4))]
    else:
        pod_sets = [_pod_set(fleet, "main", draw.randint(1, 8))]
        if draw.chance(0.1):
            pod_sets[0]["minCount"] = 1
    created = rfc3339(NOW - timedelta(minutes=draw.randint(1, 500)))
    spec = {"queueName": f"lq-{queue}", "active": True, "priority": draw.choice([0, 0, 50, 100]), "podSets": pod_sets}
    metadata = {
        "name": name,
        "namespace": _NAMESPACE,
        "uid": f"{draw.getrandbits(40):010x}",
        "creationTimestamp": created,
    }
    return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}


def _group(fleet: Fleet) -> list[Json]:
    draw = fleet.draw
    request = {draw.choice(["required", "preferred"]): draw.choice(fleet.levels), "podSetGroupName": "group"}
    leader, workers = _pod_set(fleet, "leader", 1), _pod_set(fleet, "workers", draw.randint(1, 5))
    for pod_set in (leader, workers):
        pod_set["topologyRequest"] = request
    return [leader, workers] if draw.chance(0.7) else [workers, leader]


def _pod_set(fleet: Fleet, name: str, count: int) -> Json:
    draw = fleet.draw
    requests = {"cpu": draw.choice(["1", "1", "1", "2", "500m"])}
    if draw.chance(0.12):
        requests["example.com/gpu"] = "1"
    spec: Json = {"containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]}
    if draw.chance(0.06):
        spec["tolerations"] = [{"key": "spot", "operator": "Exists"}]
    if draw.chance(0.06):
        spec["nodeSelector"] = {"pool": draw.choice("ab")}
    made = {"name": name, "count": count, "template": {"spec": spec}}
    request = _request(fleet)
    return made if request is None else {**made, "topologyRequest": request}


def _request(fleet: Fleet) -> Json | None:
    draw, levels = fleet.draw, fleet.levels
    kind = draw.weighted({"required": 5, "preferred": 4, "unconstrained": 2, "slices": 2, "none": 1})
    if kind == "none":
        return None
    if kind == "unconstrained":
        return {"unconstrained": True}
    if kind != "slices":
        request: Json = {kind: draw.choice(levels)}
        if draw.chance(0.2):
            below = levels[levels.index(request[kind]) :]
            request |= {"podSetSliceRequiredTopology": draw.choice(below), "podSetSliceSize": draw.randint(1, 3)}
        return request
    if len(levels) > 1 and draw.chance(0.4):
        outer, inner = sorted(draw.sample(range(len(levels)), 2))
        layers = [{"topology": levels[outer], "size": 4}, {"topology": levels[inner], "size": draw.choice([1, 2, 2])}]
        return {draw.choice(["required", "preferred"]): levels[0], "podsetSliceRequiredTopologyConstraints": layers}
    return {"podSetSliceRequiredTopology": draw.choice(levels), "podSetSliceSize": draw.randint(1, 3)}


def _add_running(fleet: Fleet, name: str, index: int) -> None:
    draw = fleet.draw
    queue = draw.choice(fleet.queues)
    spec = next(each["spec"] for each in fleet.objects if each["metadata"]["name"] == queue)
    flavors = [each["name"] for each in spec["resourceGroups"][0]["flavors"]]
    flavor = draw.choice(flavors)
    workload = _pending(fleet, name, queue)
    (pod_set,) = workload["spec"]["podSets"] = [_pod_set(fleet, "main", draw.randint(1, 4))]
    pod_set.pop("topologyRequest", None)
    requests = {"cpu": "1"}
    pod_set["template"]["spec"]["containers"][0]["resources"]["requests"] = requests
    count = pod_set["count"]
    assignment = {"name": "main", "count": count, "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": str(count)}}
    if flavor != "plain":
        pod_set["topologyRequest"] = {"unconstrained": True}
        if not draw.rarely(0.05):
            assignment["topologyAssignment"] = _placed(fleet, count)
    reserved = rfc3339(NOW - timedelta(minutes=600 - 10 * index))
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": reserved}
        for kind in ("QuotaReserved", "Admitted")
    ]
    admission = {"clusterQueue": queue, "podSetAssignments": [assignment]}
    fleet.objects.append({**workload, "status": {"admission": admission, "conditions": conditions}})


def _placed(fleet: Fleet, count: int) -> Json:
    draw = fleet.draw
    chosen = sorted(draw.sample(fleet.leaves, min(len(fleet.leaves), draw.randint(1, count))))
    counts = [count // len(chosen) + (position < count % len(chosen)) for position in range(len(chosen))]
    levels = [HOSTNAME] if fleet.is_by_hostname else fleet.levels
    columns = [[leaf[-1]] for leaf in chosen] if fleet.is_by_hostname else chosen
    values = [{"individual": {"roots": [row[column] for row in columns]}} for column in range(len(levels))]
    placed = {"domainCount": len(chosen), "valuesPerLevel": values, "podCounts": {"individual": counts}}
    return {"levels": levels, "slices": [placed]}


def _object(kind: str, name: str, spec: Json, namespace: str | None = None) -> Json:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
