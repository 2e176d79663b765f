"""Kubeconfigs for tests: a good one, and ways to spoil it."""

import base64
import json
from copy import deepcopy
from typing import Any

TOKEN = "planted-token-must-never-be-printed"
KEY = "planted-key-must-never-be-printed"
PEM = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY_PEM = f"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n".encode()

GOOD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [
        {
            "name": "c",
            "cluster": {
                "server": "https://worker.example:6443",
                "certificate-authority-data": base64.b64encode(PEM).decode(),
            },
        }
    ],
    "users": [{"name": "u", "user": {"token": TOKEN}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "batch"}}],
    "current-context": "x",
}

EXEC: dict[str, Any] = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "get-token",
    "args": ["--secret", KEY],
    "env": [{"name": "A", "value": KEY}],
    "interactiveMode": "Never",
    "provideClusterInfo": True,
}


def kubeconfig(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, root: dict[str, Any] | None = None
) -> bytes:
    """Return the good kubeconfig with fields of its cluster changed, its user replaced, its root changed."""
    spoilt = deepcopy(GOOD)
    spoilt["clusters"][0]["cluster"] |= cluster or {}
    if user is not None:
        spoilt["users"][0]["user"] = user
    return json.dumps(spoilt | (root or {})).encode()


def encoded(data: bytes) -> str:
    """Return base64 text."""
    return base64.b64encode(data).decode()
