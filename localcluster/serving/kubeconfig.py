"""The kubeconfig file of a local cluster, for kubectl and any other client."""

import base64
import os
from pathlib import Path

import yaml


def write_kubeconfig(path: Path, *, cluster: str, url: str, authority: bytes, token: str) -> None:
    """Write the file so that only its owner can ever read it: it holds a token."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": cluster,
                "cluster": {"server": url, "certificate-authority-data": base64.b64encode(authority).decode()},
            }
        ],
        "users": [{"name": cluster, "user": {"token": token}}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster, "namespace": "default"}}],
        "current-context": cluster,
    }
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(document, file, sort_keys=False)
