"""Pod (core/v1): placement fields are typed, the rest of the spec is kept as it came.

A pod gets its node by binding, which is the server's business; a write of the pod itself cannot move it.
"""

from collections.abc import Sequence

from config.api.meta import Obj
from config.api.quantity import QuantityError, parse_quantity
from localcluster.catalogue.builtin_kinds.limits import check_containers
from localcluster.catalogue.builtin_kinds.priority import resolve_pod_priority
from localcluster.kinds.columns import age_column, computed_column, field_column, read, text_field
from localcluster.kinds.equality import is_same
from localcluster.kinds.fields import pod_spec, resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import list_of, obj, preserved, string, timestamp

_NOT_MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_FREELY_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates")
_MUTABLE_WHILE_GATED = ("nodeSelector", "affinity")


def pod_kind() -> ServedKind:
    """Return the Pod kind."""
    status = obj(
        {
            "phase": string(),
            "startTime": timestamp(),
            "nominatedNodeName": string(),
            "podIP": string(),
            "conditions": list_of(preserved(), keys=("type",)),
            "containerStatuses": list_of(preserved()),
        },
        open_ended=True,
    )
    return ServedKind(
        group="",
        version="v1",
        kind="Pod",
        plural="pods",
        singular="pod",
        namespaced=True,
        short_names=("po",),
        categories=("all",),
        has_status=True,
        schema=resource({"spec": pod_spec(), "status": status}, required=("spec",)),
        columns=(
            computed_column("Ready", _describe_readiness),
            computed_column("Status", _describe_status),
            computed_column("Restarts", _count_restarts),
            age_column(),
            field_column("IP", "status.podIP", wide=True),
            field_column("Node", "spec.nodeName", wide=True),
            field_column("Nominated Node", "status.nominatedNodeName", wide=True),
        ),
        selectable_fields={
            "spec.nodeName": text_field("spec.nodeName"),
            "spec.restartPolicy": text_field("spec.restartPolicy"),
            "spec.schedulerName": text_field("spec.schedulerName"),
            "spec.serviceAccountName": text_field("spec.serviceAccountName"),
            "spec.hostNetwork": text_field("spec.hostNetwork", default="false"),
            "status.phase": text_field("status.phase"),
            "status.podIP": text_field("status.podIP"),
            "status.nominatedNodeName": text_field("status.nominatedNodeName"),
        },
        set_defaults=_set_pod_defaults,
        prepare_create=_start_pending,
        admit=resolve_pod_priority,
        validate=_check_pod,
    )


def set_pod_spec_defaults(spec: Obj) -> None:
    """Fill in what every pod gets, alone or from a template."""
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    for group in ("containers", "initContainers"):
        containers = spec.get(group)
        for container in containers if isinstance(containers, list) else ():
            if isinstance(container, dict):
                _set_container_defaults(container)


def _set_container_defaults(container: Obj) -> None:
    name = str(container.get("image") or "").rpartition("/")[2]
    is_moving = ":" not in name or name.endswith(":latest")
    container.setdefault("resources", {})
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", "Always" if is_moving else "IfNotPresent")


def _set_pod_defaults(pod: Obj) -> None:
    if isinstance(pod.get("spec"), dict):
        set_pod_spec_defaults(pod["spec"])
        pod["spec"].setdefault("enableServiceLinks", True)


def _start_pending(pod: Obj) -> None:
    pod["status"] = {"phase": "Pending", "qosClass": _quality_of_service(pod)}


def _quality_of_service(pod: Obj) -> str:
    """Return the class by which a kubelet ranks pods; the pod is not validated yet, so any shape may come."""
    groups = (read(pod, "spec.containers"), read(pod, "spec.initContainers"))
    containers = [container for group in groups if isinstance(group, list) for container in group]
    blocks = [resources for container in containers if isinstance(resources := read(container, "resources"), dict)]
    if not any(block.get("requests") or block.get("limits") for block in blocks):
        return "BestEffort"
    return "Guaranteed" if len(blocks) == len(containers) and all(map(_is_guaranteed, blocks)) else "Burstable"


def _is_guaranteed(resources: Obj) -> bool:
    """Return whether CPU and memory are limited, and to what is requested."""
    limited = {name: read(resources, f"limits.{name}") for name in ("cpu", "memory")}
    requested = {name: read(resources, f"requests.{name}") or limit for name, limit in limited.items()}
    try:
        return all(
            limited[name] is not None and parse_quantity(requested[name]) == parse_quantity(limited[name])
            for name in limited
        )
    except QuantityError:
        return False


def _check_pod(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    spec = new["spec"]
    if old is None:
        return [*check_containers(spec, "spec")]
    if not is_same(_frozen_part(spec, old["spec"]), _frozen_part(old["spec"], old["spec"])):
        return [errors.forbidden("spec", _NOT_MUTABLE)]
    found: list[SchemaError] = []
    tolerations = spec.get("tolerations") or ()
    if any(toleration not in tolerations for toleration in old["spec"].get("tolerations") or ()):
        found.append(
            errors.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    gates = [gate["name"] for gate in old["spec"].get("schedulingGates") or ()]
    added = [gate["name"] for gate in spec.get("schedulingGates") or () if gate["name"] not in gates]
    if added:
        complaint = f"only deletion is allowed, but found new scheduling gate '{added[0]}'"
        found.append(errors.forbidden("spec.schedulingGates", complaint))
    return found


def _frozen_part(spec: Obj, old: Obj) -> Obj:
    """Return what must stay equal: everything but images, additions, and placement that is still open."""
    open_fields = set(_FREELY_MUTABLE)
    if old.get("schedulingGates"):
        open_fields.update(_MUTABLE_WHILE_GATED)
    frozen = {key: value for key, value in spec.items() if key not in open_fields}
    for group in ("containers", "initContainers"):
        if group in frozen:
            frozen[group] = [
                {key: value for key, value in container.items() if key != "image"} for container in frozen[group]
            ]
    return frozen


def _describe_readiness(pod: Obj) -> str:
    statuses = read(pod, "status.containerStatuses") or ()
    ready = sum(bool(status.get("ready")) for status in statuses)
    return f"{ready}/{len(read(pod, 'spec.containers') or ())}"


def _describe_status(pod: Obj) -> str:
    if read(pod, "metadata.deletionTimestamp"):
        return "Terminating"
    if read(pod, "spec.schedulingGates"):
        return "SchedulingGated"
    return str(read(pod, "status.reason") or read(pod, "status.phase") or "Unknown")


def _count_restarts(pod: Obj) -> str:
    return str(sum(status.get("restartCount", 0) for status in read(pod, "status.containerStatuses") or ()))
