"""From a kubeconfig's bytes to the access value that it grants, or to everything that the policy has against it.

Pure: no file is read here. Paths in the file, where the policy allows any, stay paths until `sources` reads them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.kubeconfig.access import ClientCertificate, ClusterAccess, ExecPlugin, Material
from config.kubeconfig.entries import (
    ClusterEntry,
    Context,
    MappingEntry,
    UserEntry,
    read_cluster,
    read_context,
    read_named,
    read_user,
)
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.policy import refusals_anywhere, refusals_in_use
from config.reading.yaml_document import NotYamlError, read_yaml
from config.sections.sections import KubeconfigPolicy
from config.types.choices import ExecApiVersion
from config.types.syntax import TOKEN, UNSENDABLE, normal_proxy_url, printable

EXEC_API_VERSIONS: Final = tuple(ExecApiVersion)

MAX_KUBECONFIG_VALUES: Final = 10_000
"""The limit for a worker's kubeconfig; the hub's, and those of commands, may have many contexts."""

_INTERACTIVE_MODES: Final = ("Never", "IfAvailable")
PEM: Final = b"-----BEGIN "


@dataclass(frozen=True, slots=True)
class _InUse:
    cluster: ClusterEntry
    user: UserEntry
    namespace: str


def parse_kubeconfig(
    raw: bytes,
    policy: KubeconfigPolicy,
    context: str | None = None,
    directory: Path | None = None,
    *,
    max_values: int = MAX_KUBECONFIG_VALUES,
) -> ClusterAccess:
    """Return what the context (or the current-context) grants.

    `directory` is where the file lies: relative paths in it start there; without it they are refused.
    """
    root = _root_of(raw, max_values)
    clusters = read_named(root, "clusters", "cluster", read_cluster)
    users = read_named(root, "users", "user", read_user)
    contexts = read_named(root, "contexts", "context", read_context)
    problems = list(refusals_anywhere(users, clusters, policy))
    in_use = _choose(context or root.text("current-context"), contexts, clusters, users)
    if isinstance(in_use, str):
        raise _refused([*problems, in_use])
    problems += refusals_in_use(in_use.cluster, in_use.user, policy)
    if problems:
        raise _refused(problems)
    return _Builder(in_use, directory).access()


def _root_of(raw: bytes, max_values: int) -> MappingEntry:
    try:
        document = read_yaml(raw, max_values)
    except NotYamlError as error:
        raise _unreadable(f"line {error.problem.line} {error.problem.message}") from None
    if document.problems:
        first = document.problems[0]
        raise _unreadable(f"line {first.line} {first.message}")
    if not isinstance(document.tree, dict):
        raise _unreadable("it is empty" if document.tree is None else "it is not a mapping")
    root = MappingEntry("", document.tree)
    if root.text("kind") not in {"", "Config"} or root.text("apiVersion") not in {"", "v1"}:
        raise _unreadable("apiVersion must be v1 and kind must be Config")
    return root


def _choose(
    name: str, contexts: dict[str, Context], clusters: dict[str, ClusterEntry], users: dict[str, UserEntry]
) -> _InUse | str:
    if not name:
        return "current-context is not set, and the configuration names no context"
    chosen = contexts.get(name)
    if chosen is None:
        return f'context "{printable(name)}" does not exist'
    cluster, user = clusters.get(chosen.cluster), users.get(chosen.user)
    if cluster is None:
        return f'cluster "{printable(chosen.cluster)}" was not found for context "{printable(name)}"'
    if user is None:
        return f'user "{printable(chosen.user)}" was not found for context "{printable(name)}"'
    return _InUse(cluster, user, chosen.namespace)


@dataclass(frozen=True, slots=True)
class _Builder:
    in_use: _InUse
    directory: Path | None

    def access(self) -> ClusterAccess:
        cluster, user = self.in_use.cluster, self.in_use.user
        # As in client-go: the data wins over the path, and a token file over the token.
        token_file = self._path(user.token_file) if user.token_file else None
        return ClusterAccess(
            server=cluster.server.rstrip("/"),
            ca=self._material(
                cluster.certificate_authority_data, cluster.certificate_authority, "certificate-authority-data"
            ),
            tls_server_name=cluster.tls_server_name or None,
            proxy_url=normal_proxy_url(cluster.proxy_url) if cluster.proxy_url else None,
            namespace=self.in_use.namespace or None,
            token=_token(user) if user.token and not token_file else None,
            token_file=token_file,
            client_certificate=self._client_certificate(),
            exec_plugin=self._exec_plugin(user.exec_entry) if user.exec_entry else None,
        )

    def _client_certificate(self) -> ClientCertificate | None:
        user = self.in_use.user
        certificate = self._material(user.client_certificate_data, user.client_certificate, "client-certificate-data")
        if certificate is None:
            return None
        key = self._material(user.client_key_data, user.client_key, "client-key-data")
        if key is None:
            raise _refused([f"user {user.name} has a client certificate without a client key"])
        return ClientCertificate(certificate, key)

    def _material(self, data: bytes, path: str, field: str) -> Material | None:
        if data and PEM not in data:
            raise _refused([not_pem(field)])
        return data or (self._path(path) if path else None)

    def _path(self, text: str) -> Path:
        return _path_in(self.directory, text)

    def _exec_plugin(self, entry: MappingEntry) -> ExecPlugin:
        return read_exec_plugin(entry, self.directory, self.in_use.cluster.exec_config)


def read_exec_plugin(entry: MappingEntry, directory: Path | None, cluster_config: object) -> ExecPlugin:
    """Return the command that an entry `exec` describes; a relative path in it starts at the directory."""
    command, api_version = entry.text("command"), entry.text("apiVersion")
    if not command:
        raise entry.wrong("command", "is required")
    if api_version not in EXEC_API_VERSIONS:
        raise entry.wrong("apiVersion", f"must be {' or '.join(EXEC_API_VERSIONS)}")
    _check_interactive_mode(entry, api_version)
    if "/" in command:
        command = str(_path_in(directory, command))
    return ExecPlugin(
        command=command,
        api_version=api_version,
        args=entry.texts("args"),
        env=tuple((_env_name(item), item.text("value")) for item in entry.entries("env")),
        provide_cluster_info=entry.flag("provideClusterInfo"),
        cluster_config=cluster_config,
        install_hint=entry.text("installHint"),
    )


def _path_in(directory: Path | None, text: str) -> Path:
    if text.startswith("/"):
        return Path(text)
    if directory is None:
        raise _refused(["file paths in a kubeconfig from a Secret must be absolute"])
    return directory / text


def not_pem(field: str) -> str:
    """Say that a field does not hold a certificate or key."""
    return f"{field} is not PEM text"


def _token(user: UserEntry) -> str:
    token = user.token.strip()
    if not TOKEN.fullmatch(token):
        raise _refused([f"the token of user {user.name} holds {UNSENDABLE}"])
    return token


def _env_name(entry: MappingEntry) -> str:
    name = entry.text("name")
    if not name or "=" in name or "\0" in name:
        raise entry.wrong("name", "must be the name of an environment variable")
    return name


def _check_interactive_mode(entry: MappingEntry, api_version: str) -> None:
    """Refuse a plugin that needs standard input: none is offered, whichever of the other modes is set."""
    text = entry.text("interactiveMode")
    if not text and api_version.endswith("/v1beta1"):
        return
    if text == "Always":
        raise entry.wrong("interactiveMode", "is Always, and a daemon has no standard input to offer")
    if text not in _INTERACTIVE_MODES:
        raise entry.wrong("interactiveMode", "must be Never or IfAvailable")


def _unreadable(why: str) -> KubeconfigError:
    return KubeconfigError(KubeconfigReason.INSECURE, f"failed to parse kubeconfig(apiconfig): {why}")


def _refused(problems: list[str]) -> KubeconfigError:
    return KubeconfigError(KubeconfigReason.INSECURE, problems)
