"""Fields that many kinds share: metadata, conditions, selectors, tolerations, pod templates."""

from collections.abc import Mapping

from localcluster.kinds.schema import Schema, SchemaRule
from localcluster.kinds.structural.builder import (
    QUALIFIED_NAME,
    anything,
    boolean,
    int32,
    int64,
    list_of,
    map_of,
    obj,
    one_of,
    quantity,
    string,
    timestamp,
)

OBJECT_META = obj(
    {
        "name": string(),
        "generateName": string(),
        "namespace": string(),
        "selfLink": string(),
        "uid": string(),
        "resourceVersion": string(),
        "generation": int64(),
        "creationTimestamp": timestamp(),
        "deletionTimestamp": timestamp(),
        "deletionGracePeriodSeconds": int64(),
        "labels": map_of(string()),
        "annotations": map_of(string()),
        "ownerReferences": list_of(
            obj(
                {
                    "apiVersion": string(),
                    "kind": string(),
                    "name": string(),
                    "uid": string(),
                    "controller": boolean(),
                    "blockOwnerDeletion": boolean(),
                },
                required=("apiVersion", "kind", "name", "uid"),
                atomic=True,
            ),
            keys=("uid",),
        ),
        "finalizers": list_of(string(), unique=True),
        "managedFields": list_of(
            obj(
                {
                    "manager": string(),
                    "operation": string(),
                    "apiVersion": string(),
                    "time": timestamp(),
                    "fieldsType": string(),
                    "fieldsV1": anything(),
                    "subresource": string(),
                }
            )
        ),
    }
)


def resource(
    fields: Mapping[str, Schema],
    *,
    required: tuple[str, ...] = (),
    open_ended: bool = False,
    invariants: tuple[SchemaRule, ...] = (),
) -> Schema:
    """Describe a whole API object: its own fields beside apiVersion, kind and metadata."""
    every_object = {"apiVersion": string(), "kind": string(), "metadata": OBJECT_META}
    return obj({**every_object, **fields}, required=required, open_ended=open_ended, invariants=invariants)


def resource_list() -> Schema:
    """Describe amounts by resource name."""
    return map_of(quantity())


def conditions() -> Schema:
    """Describe metav1.Condition entries, at most sixteen as Kueue allows."""
    return list_of(
        obj(
            {
                "type": string(pattern=QUALIFIED_NAME, most=316),
                "status": one_of("True", "False", "Unknown"),
                "observedGeneration": int64(least=0),
                "lastTransitionTime": timestamp(),
                "reason": string(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", least=1, most=1024),
                "message": string(most=32768),
            },
            required=("lastTransitionTime", "message", "reason", "status", "type"),
        ),
        keys=("type",),
        most=16,
    )


def label_selector() -> Schema:
    """Describe a label selector, which is applied as a whole."""
    return obj(
        {
            "matchLabels": map_of(string()),
            "matchExpressions": list_of(
                obj(
                    {"key": string(), "operator": string(), "values": list_of(string())},
                    required=("key", "operator"),
                )
            ),
        },
        atomic=True,
    )


def toleration() -> Schema:
    """Describe one toleration."""
    return obj(
        {
            "key": string(),
            "operator": string(),
            "value": string(),
            "effect": string(),
            "tolerationSeconds": int64(),
        }
    )


def _requirements() -> Schema:
    return obj(
        {
            "limits": resource_list(),
            "requests": resource_list(),
            "claims": list_of(obj({"name": string(), "request": string()}, required=("name",)), keys=("name",)),
        }
    )


def _kept(*names: str) -> dict[str, Schema]:
    """List fields that nothing here reads: known, so that they are not dropped, and kept as they came."""
    return {name: anything() for name in names}


def _container() -> Schema:
    return obj(
        {
            "name": string(),
            "image": string(),
            "restartPolicy": string(),
            "resources": _requirements(),
            **_kept("args", "command", "env", "envFrom", "imagePullPolicy", "lifecycle", "livenessProbe", "ports"),
            **_kept("readinessProbe", "resizePolicy", "restartPolicyRules", "securityContext", "startupProbe"),
            **_kept("stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty"),
            **_kept("volumeDevices", "volumeMounts", "workingDir"),
        },
        required=("name",),
    )


def pod_spec() -> Schema:
    """Describe what schedulers and quota read of a pod; the other fields it has are kept as they came."""
    return obj(
        {
            "containers": list_of(_container(), keys=("name",)),
            "initContainers": list_of(_container(), keys=("name",)),
            "nodeName": string(),
            "nodeSelector": map_of(string(), atomic=True),
            "overhead": resource_list(),
            "preemptionPolicy": string(),
            "priority": int32(),
            "priorityClassName": string(),
            "resources": _requirements(),
            "restartPolicy": string(),
            "runtimeClassName": string(),
            "schedulerName": string(),
            "schedulingGates": list_of(obj({"name": string()}, required=("name",)), keys=("name",)),
            "schedulingGroup": obj({"podGroupName": string()}),
            "terminationGracePeriodSeconds": int64(),
            "tolerations": list_of(toleration()),
            **_kept("activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "dnsConfig", "dnsPolicy"),
            **_kept("enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork", "hostPID"),
            **_kept("hostUsers", "hostname", "hostnameOverride", "imagePullSecrets", "os", "readinessGates"),
            **_kept("resourceClaims", "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN"),
            **_kept("shareProcessNamespace", "subdomain", "topologySpreadConstraints", "volumes"),
        },
        required=("containers",),
    )


def pod_template() -> Schema:
    """Describe a pod template; of its metadata only these fields survive."""
    return obj(
        {
            "metadata": obj(
                {
                    "name": string(),
                    "namespace": string(),
                    "labels": map_of(string()),
                    "annotations": map_of(string()),
                    "finalizers": list_of(string()),
                }
            ),
            "spec": pod_spec(),
        }
    )
