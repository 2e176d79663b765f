"""The objects of a Kueue's own installation, as manifests and the chart make them."""

from typing import Any

import yaml

NAMESPACE = "kueue-system"
GATE = "MultiKueueOrchestratedPreemption"
T0, T1, T2 = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"


def deployment(
    image: str = "registry.k8s.io/kueue/kueue:v0.19.2",
    *arguments: str,
    rolled_out: str | None = T2,
    labels: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Return Kueue's Deployment; `rolled_out` is None while its pods are being replaced."""
    container = {"name": "manager", "image": image, "args": ["--config=/controller_manager_config.yaml", *arguments]}
    done = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "lastUpdateTime": rolled_out}
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 1)
    status: dict[str, Any] = {"observedGeneration": 1, **counts, "conditions": [done]}
    if rolled_out is None:
        status |= {"updatedReplicas": 0}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "kueue-controller-manager",
            "namespace": NAMESPACE,
            "generation": 1,
            "labels": labels or {},
        },
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
        "status": status,
    }


def configuration(gates: dict[str, Any] | None = None, **more: Any) -> str:
    """Return a Configuration with these feature gates."""
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **more}
    return yaml.safe_dump(head | ({"featureGates": gates} if gates is not None else {}))


def config_map(text: str, *, changed: str = T1, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the ConfigMap with a Configuration."""
    metadata = {
        "name": "kueue-manager-config",
        "namespace": NAMESPACE,
        "creationTimestamp": T0,
        "labels": labels or {},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "time": changed}],
    }
    data = {"controller_manager_config.yaml": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
