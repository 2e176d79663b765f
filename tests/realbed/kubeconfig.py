"""A kubeconfig file for kubectl and other clients of one server."""

import base64
from pathlib import Path

import yaml


def write(path: Path, *, url: str, ca_file: Path, token: str, name: str = "realbed") -> Path:
    """Write a self-contained kubeconfig: the authority and the token are inside."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": url,
                    "certificate-authority-data": base64.b64encode(ca_file.read_bytes()).decode(),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(document))
    return path
