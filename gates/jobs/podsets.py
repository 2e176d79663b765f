"""The pods of a job as Kueue counts them: one pod set per group of equal pods, for kinds whose manifest defines them.

Names, order and counts are Kueue v0.19.1's. Kinds whose pods are defined elsewhere are refused, each with the reason.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from config.api.meta import Raw
from gates.jobs.reading import LARGEST_COUNT, ManifestFieldError, block_at, count_at, items_at, needed_block_at, text_at

PodSet = dict[str, Any]

_MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
_TOPOLOGY: Final = {
    "kueue.x-k8s.io/podset-required-topology": "required",
    "kueue.x-k8s.io/podset-preferred-topology": "preferred",
    "kueue.x-k8s.io/podset-unconstrained-topology": "unconstrained",
}
_RAY_FAULT_TOLERANCE: Final = "ray.io/ft-enabled"
_SUBMITTER: Final = {
    "name": "ray-job-submitter",
    "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}},
}


def pod_sets_of(raw: Raw) -> list[PodSet]:
    """Return the pod sets of a job; raises `ManifestFieldError` for one that cannot be used."""
    kind = str(raw.get("kind"))
    if kind in _ELSEWHERE:
        raise ManifestFieldError(f"the pods of a {kind} cannot be planned from its manifest: {_ELSEWHERE[kind]}")
    reader = _READERS.get(kind)
    if reader is None:
        raise ManifestFieldError(f"kind {kind} is not known: must be Workload or one of {', '.join(sorted(_READERS))}")
    found = list(reader(raw))
    if not any(pod_set["count"] for pod_set in found):
        raise ManifestFieldError("the job has no pods")
    return found


def priority_class_of(raw: Raw, pod_sets: list[PodSet]) -> str:
    """Return the PriorityClass that a job's priority comes from where no label names one; empty for the default."""
    policy = block_at(raw, "spec", "runPolicy", "schedulingPolicy")
    named = text_at(policy, "priorityClass", "spec.runPolicy.schedulingPolicy")
    classes = (str((each["template"].get("spec") or {}).get("priorityClassName") or "") for each in pod_sets)
    return named or next((name for name in classes if name), "")


def _pod_set(name: str, count: int, template: Raw, place: str) -> PodSet:
    if not 0 <= count <= LARGEST_COUNT:
        raise ManifestFieldError(f"{place} asks for {count} pods: must be at most {LARGEST_COUNT}")
    needed_block_at({place: template}, place, "spec")
    made: PodSet = {"name": name.lower(), "count": count, "template": dict(template)}
    request = _topology(block_at(template, "metadata", "annotations"))
    return {**made, "topologyRequest": request} if request else made


def _topology(annotations: Raw) -> dict[str, Any]:
    for annotation, field in _TOPOLOGY.items():
        if annotation in annotations:
            value = annotations[annotation]
            return {field: str(value).lower() == "true" if field == "unconstrained" else value}
    return {}


def _job(raw: Raw) -> Iterator[PodSet]:
    spec = needed_block_at(raw, "spec")
    made = _pod_set("main", _job_pods(spec, "spec"), needed_block_at(raw, "spec", "template"), "spec.template")
    least = block_at(raw, "metadata", "annotations").get(_MIN_PARALLELISM)
    if isinstance(least, str) and least.isdecimal():
        made["minCount"] = int(least)
    yield made


def _job_pods(spec: Raw, place: str) -> int:
    parallelism = count_at(spec, "parallelism", place, 1)
    return min(parallelism, count_at(spec, "completions", place, parallelism))


def _job_set(raw: Raw) -> Iterator[PodSet]:
    for place, item in items_at(raw, "spec", "replicatedJobs"):
        spec = needed_block_at(item, "template", "spec")
        pods = count_at(item, "replicas", place, 1) * _job_pods(spec, f"{place}.template.spec")
        template = needed_block_at(item, "template", "spec", "template")
        yield _pod_set(text_at(item, "name", place), pods, template, f"{place}.template.spec.template")


def _replicas(field: str, *roles: str) -> Callable[[Raw], Iterator[PodSet]]:
    def read(raw: Raw) -> Iterator[PodSet]:
        for role in roles:
            spec = block_at(raw, "spec", field, role)
            if spec:
                place = f"spec.{field}.{role}"
                template = needed_block_at(spec, "template")
                yield _pod_set(role, count_at(spec, "replicas", place, 1), template, f"{place}.template")

    return read


def _ray(*path: str) -> Callable[[Raw], Iterator[PodSet]]:
    def read(raw: Raw) -> Iterator[PodSet]:
        spec = needed_block_at(raw, *path)
        place = ".".join(path)
        if spec.get("enableInTreeAutoscaling"):
            raise ManifestFieldError(f"{place}.enableInTreeAutoscaling: how large the cluster becomes is not known")
        fault_tolerant = str(block_at(raw, "metadata", "annotations").get(_RAY_FAULT_TOLERANCE)).lower() == "true"
        if spec.get("gcsFaultToleranceOptions") or fault_tolerant:
            raise ManifestFieldError(f"{place}.gcsFaultToleranceOptions: what its clean-up asks for is not modelled")
        head = needed_block_at(spec, "headGroupSpec", "template")
        yield _pod_set("head", 1, head, f"{place}.headGroupSpec.template")
        for group_place, group in items_at(spec, "workerGroupSpecs"):
            hosts = max(1, count_at(group, "numOfHosts", group_place, 1))
            count = count_at(group, "replicas", group_place, 1) * hosts
            template = needed_block_at(group, "template")
            yield _pod_set(text_at(group, "groupName", group_place), count, template, f"{place}.{group_place}.template")

    return read


def _ray_job(raw: Raw) -> Iterator[PodSet]:
    spec = needed_block_at(raw, "spec")
    mode = text_at(spec, "submissionMode", "spec") or "K8sJobMode"
    for pod_set in _ray("spec", "rayClusterSpec")(raw):
        if pod_set["name"] == "head" and mode == "SidecarMode":
            pod = pod_set["template"]["spec"]
            containers = [*(pod.get("containers") or ()), _SUBMITTER]
            pod_set["template"] = {**pod_set["template"], "spec": {**pod, "containers": containers}}
        yield pod_set
    if mode == "K8sJobMode":
        own = block_at(raw, "spec", "submitterPodTemplate")
        yield _pod_set("submitter", 1, own or {"spec": {"containers": [_SUBMITTER]}}, "spec.submitterPodTemplate")


def _stateful_set(raw: Raw) -> Iterator[PodSet]:
    spec = needed_block_at(raw, "spec")
    template = needed_block_at(raw, "spec", "template")
    yield _pod_set("main", count_at(spec, "replicas", "spec", 1), template, "spec.template")


def _pod(raw: Raw) -> Iterator[PodSet]:
    if block_at(raw, "metadata", "labels").get("kueue.x-k8s.io/pod-group-name"):
        raise ManifestFieldError("metadata.labels: a group of pods is planned by its Workload, not by one pod of it")
    template = {"metadata": block_at(raw, "metadata"), "spec": needed_block_at(raw, "spec")}
    yield _pod_set("main", 1, template, "Pod")


_READERS: Final[Mapping[str, Callable[[Raw], Iterator[PodSet]]]] = {
    "Job": _job,
    "JobSet": _job_set,
    "TFJob": _replicas("tfReplicaSpecs", "Chief", "Master", "PS", "Worker", "Evaluator"),
    "PyTorchJob": _replicas("pytorchReplicaSpecs", "Master", "Worker"),
    "XGBoostJob": _replicas("xgbReplicaSpecs", "Master", "Worker"),
    "PaddleJob": _replicas("paddleReplicaSpecs", "Master", "Worker"),
    "JAXJob": _replicas("jaxReplicaSpecs", "Worker"),
    "MPIJob": _replicas("mpiReplicaSpecs", "Launcher", "Worker"),
    "RayCluster": _ray("spec"),
    "RayJob": _ray_job,
    "RayService": _ray("spec", "rayClusterConfig"),
    "Pod": _pod,
    "StatefulSet": _stateful_set,
}
_ELSEWHERE: Final = {
    "TrainJob": "its training runtime describes them; plan the Workload that Kueue makes for it",
    "AppWrapper": "its components are of any kind; plan the Workload that Kueue makes for it",
    "LeaderWorkerSet": "each of its groups has a Workload of its own; plan one of these",
}
