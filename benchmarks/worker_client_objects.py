"""A Workload of ordinary size: two pod sets, about 2.2 kB without status."""

from typing import Any


def _pod_set(name: str, count: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example.org/team/trainer:1.2.3",
        "command": ["python", "-m", "train", "--epochs", "40", "--config", "/etc/train/config.yaml"],
        "env": [{"name": f"SETTING_{number}", "value": f"value number {number}"} for number in range(8)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/train"}],
    }
    spec = {
        "containers": [container],
        "restartPolicy": "Never",
        "volumes": [{"name": "config", "configMap": {"name": "train"}}],
    }
    return {"name": name, "count": count, "template": {"spec": spec}}


def workload(name: str) -> dict[str, Any]:
    """Return one as a client would send it."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/multikueue-origin": "hub"}},
        "spec": {"queueName": "main", "priority": 100, "podSets": [_pod_set("driver", 1), _pod_set("workers", 8)]},
    }
