"""The access of a pod to the cluster that it runs in: its service account."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from config.kubeconfig.access import ClusterAccess

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def in_cluster_access(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> ClusterAccess:
    """Return the access; raises `ValueError` where there is none. The token is read again whenever it was renewed."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ValueError(
            "this process does not run in a pod: KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set"
        )
    token, authority = directory / "token", directory / "ca.crt"
    for file in (token, authority):
        if not file.is_file():
            raise ValueError(f"the pod has no service account: there is no file {file}")
    bracketed = f"[{host}]" if ":" in host else host
    return ClusterAccess(f"https://{bracketed}:{port}", ca=authority.read_bytes(), token_file=token)
