"""The kinds that describe nodes and importance: ResourceFlavor, Topology, WorkloadPriorityClass, provisioning."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from config.api.meta import Obj
from localcluster.catalogue.kueue_kinds.queues import add_in_use_finalizer
from localcluster.catalogue.kueue_kinds.vocabulary import (
    GROUP,
    IMMUTABLE,
    UNIQUE,
    VERSION,
    taint_effects_invariant,
    tolerations,
)
from localcluster.kinds.columns import age_column, field_column
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import Alias, ServedKind, Webhook
from localcluster.kinds.metadata import check_label_name, check_labels
from localcluster.kinds.names import explain_label_value
from localcluster.kinds.schema import SchemaError, SchemaRule
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import (
    QUALIFIED_NAME,
    int32,
    list_of,
    map_of,
    obj,
    one_of,
    string,
    subdomain,
    timestamp,
)

HOSTNAME_LABEL = "kubernetes.io/hostname"
_OLD = "v1beta1"


def resource_flavor_kind() -> ServedKind:
    """Return the ResourceFlavor kind; with a topology its labels and tolerations are frozen."""
    taint = obj(
        {"key": string(), "value": string(), "effect": string(), "timeAdded": timestamp()}, required=("effect", "key")
    )
    spec = obj(
        {
            "nodeLabels": map_of(string(), most=8, atomic=True),
            "nodeTaints": list_of(taint, most=8, invariants=(taint_effects_invariant(optional=False),)),
            "tolerations": tolerations(),
            "topologyName": subdomain(),
        },
        invariants=(
            SchemaRule(
                "at least one nodeLabel is required when topology is set",
                lambda spec, _old: "topologyName" not in spec or bool(spec.get("nodeLabels")),
            ),
            _frozen_by_topology("nodeLabels", "nodeLabels are immutable when topologyName is set"),
            _frozen_by_topology("tolerations", "tolerations are immutable when topologyName is set"),
            _frozen_by_topology("topologyName", "topologyName is immutable when topologyName is set"),
        ),
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="ResourceFlavor",
        plural="resourceflavors",
        singular="resourceflavor",
        namespaced=False,
        short_names=("flavor", "flavors", "rf"),
        schema=resource({"spec": spec}),
        columns=(age_column(),),
        prepare_create=add_in_use_finalizer,
        webhook=Webhook("vresourceflavor.kb.io", _check_flavor),
    )


def topology_kind() -> ServedKind:
    """Return the Topology kind: levels of a data center, from the widest to the narrowest."""
    level = obj({"nodeLabel": string(pattern=QUALIFIED_NAME, least=1, most=316)}, required=("nodeLabel",))
    levels = list_of(
        level,
        least=1,
        most=16,
        invariants=(
            IMMUTABLE,
            UNIQUE,
            SchemaRule(
                "the kubernetes.io/hostname label can only be used at the lowest level of topology",
                _hosts_are_lowest,
            ),
        ),
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="Topology",
        plural="topologies",
        singular="topology",
        namespaced=False,
        short_names=("topo",),
        schema=resource({"spec": obj({"levels": levels}, required=("levels",))}),
        columns=(age_column(),),
    )


def workload_priority_class_kind() -> ServedKind:
    """Return the WorkloadPriorityClass kind; it has no spec."""
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="WorkloadPriorityClass",
        plural="workloadpriorityclasses",
        singular="workloadpriorityclass",
        namespaced=False,
        short_names=("wpc",),
        schema=resource({"value": int32(), "description": string(most=2048)}, required=("value",)),
        columns=(field_column("Value", "value", of="integer", says="Value of workloadPriorityClass's Priority"),),
    )


def workload_priority_class_v1beta1_kind() -> ServedKind:
    """Return the WorkloadPriorityClass of v1beta1, which v1beta2 spells the same; the only kind served at it here."""
    stored = workload_priority_class_kind()
    alias = Alias(
        stored.group, stored.version, stored.plural, partial(_at_version, VERSION), partial(_at_version, _OLD)
    )
    return replace(stored, version=_OLD, alias=alias)


def _at_version(version: str, stored: Obj) -> Obj:
    return {**stored, "apiVersion": f"{GROUP}/{version}"}


def provisioning_request_config_kind() -> ServedKind:
    """Return the ProvisioningRequestConfig kind."""
    node_selector = obj(
        {
            "key": string(pattern=QUALIFIED_NAME, least=1, most=317),
            "valueFromProvisioningClassDetail": string(least=1, most=32768),
        },
        required=("key", "valueFromProvisioningClassDetail"),
    )
    retry = obj(
        {
            "backoffBaseSeconds": int32(default=60),
            "backoffLimitCount": int32(default=3),
            "backoffMaxSeconds": int32(default=1800),
        },
        default={},
    )
    spec = obj(
        {
            "provisioningClassName": subdomain(least=1),
            "parameters": map_of(string(most=255), most=100),
            "managedResources": list_of(string(), unique=True, most=100),
            "podSetMergePolicy": one_of("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"),
            "podSetUpdates": obj({"nodeSelector": list_of(node_selector, keys=("key",), most=8)}),
            "retryStrategy": retry,
        },
        required=("provisioningClassName",),
    )
    return ServedKind(
        group=GROUP,
        version=VERSION,
        kind="ProvisioningRequestConfig",
        plural="provisioningrequestconfigs",
        singular="provisioningrequestconfig",
        namespaced=False,
        short_names=("prc",),
        schema=resource({"spec": spec}),
        columns=(age_column(),),
    )


def _frozen_by_topology(field: str, message: str) -> SchemaRule:
    return SchemaRule(
        message, lambda new, old: "topologyName" not in old or new.get(field) == old.get(field), is_transition=True
    )


def _hosts_are_lowest(levels: Sequence[Obj], _old: Any) -> bool:
    labels = [level["nodeLabel"] for level in levels]
    return HOSTNAME_LABEL not in labels or labels[-1] == HOSTNAME_LABEL


def _check_flavor(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    spec = new.get("spec") or {}
    found = check_labels(spec.get("nodeLabels") or {}, "spec.nodeLabels")
    found.extend(_check_taints(spec.get("nodeTaints") or ()))
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        if toleration.get("key"):
            found.extend(check_label_name(toleration["key"], f"spec.tolerations[{index}].key"))
    return found


def _check_taints(taints: Sequence[Obj]) -> Iterator[SchemaError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        path = f"spec.nodeTaints[{index}]"
        yield from check_label_name(taint["key"], f"{path}.key")
        problems = explain_label_value(taint.get("value") or "")
        if problems:
            yield errors.invalid(f"{path}.value", taint.get("value"), ";".join(problems))
        identity = (taint["key"], taint["effect"])
        if identity in seen:
            yield errors.duplicate(path, taint, "taints must be unique by key and effect pair")
        seen.add(identity)
