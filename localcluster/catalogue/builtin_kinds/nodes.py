"""Node (core/v1) and RuntimeClass (node.k8s.io/v1)."""

from config.api.meta import Obj
from localcluster.kinds.columns import age_column, computed_column, field_column, has_condition, read, text_field
from localcluster.kinds.fields import resource, resource_list, toleration
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural.builder import boolean, list_of, map_of, obj, preserved, string, timestamp

_ROLE_PREFIX = "node-role.kubernetes.io/"


def node_kind() -> ServedKind:
    """Return the Node kind."""
    taint = obj(
        {"key": string(), "value": string(), "effect": string(), "timeAdded": timestamp()}, required=("effect", "key")
    )
    spec = obj({"unschedulable": boolean(), "taints": list_of(taint), "providerID": string()}, open_ended=True)
    status = obj(
        {
            "capacity": resource_list(),
            "allocatable": resource_list(),
            "conditions": list_of(preserved(), keys=("type",)),
            "addresses": list_of(preserved()),
            "nodeInfo": preserved(),
        },
        open_ended=True,
    )
    return ServedKind(
        group="",
        version="v1",
        kind="Node",
        plural="nodes",
        singular="node",
        namespaced=False,
        short_names=("no",),
        has_status=True,
        schema=resource({"spec": spec, "status": status}),
        columns=(
            computed_column("Status", _describe_status),
            computed_column("Roles", _describe_roles),
            age_column(),
            field_column("Version", "status.nodeInfo.kubeletVersion"),
        ),
        selectable_fields={"spec.unschedulable": text_field("spec.unschedulable", default="false")},
    )


def runtime_class_kind() -> ServedKind:
    """Return the RuntimeClass kind."""
    scheduling = obj({"nodeSelector": map_of(string()), "tolerations": list_of(toleration())})
    return ServedKind(
        group="node.k8s.io",
        version="v1",
        kind="RuntimeClass",
        plural="runtimeclasses",
        singular="runtimeclass",
        namespaced=False,
        schema=resource(
            {"handler": string(), "overhead": obj({"podFixed": resource_list()}), "scheduling": scheduling},
            required=("handler",),
        ),
        columns=(field_column("Handler", "handler"), age_column()),
    )


def _describe_status(node: Obj) -> str:
    words = ["Ready" if has_condition(node, "Ready") else "NotReady"]
    if not (read(node, "status.conditions") or ()):
        words = ["Unknown"]
    if read(node, "spec.unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _describe_roles(node: Obj) -> str:
    labels = read(node, "metadata.labels") or {}
    roles = sorted(label.removeprefix(_ROLE_PREFIX) for label in labels if label.startswith(_ROLE_PREFIX))
    return ",".join(roles) or "<none>"
