"""How to reach and authenticate to one cluster: the value that a kubeconfig becomes once it was held to the policy.

Invariant: nothing here prints a secret. Fields that hold or may hold one are left out of every repr.
"""

from dataclasses import dataclass, field
from pathlib import Path

Material = bytes | Path
"""PEM text, or the file that holds it (only where the policy allows file references)."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A TLS client certificate with its key."""

    certificate: Material = field(repr=False)
    key: Material = field(repr=False)


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints an ExecCredential."""

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    provide_cluster_info: bool = False
    cluster_config: object = field(default=None, repr=False, hash=False)
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster's API server and one identity there: token, token file, exec plugin or client certificate."""

    server: str
    ca: Material | None = field(default=None, repr=False)
    tls_server_name: str | None = None
    proxy_url: str | None = None
    namespace: str | None = None
    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    client_certificate: ClientCertificate | None = None
    exec_plugin: ExecPlugin | None = None
    token_is_renewed: bool = False
    """Whether the next load brings another token, so that the end of this one is no reason to worry."""
