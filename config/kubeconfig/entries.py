"""The entries of a kubeconfig, typed but not yet judged. Messages name fields and never their values."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.types.syntax import printable

_CLUSTER_CONFIG_EXTENSION = "client.authentication.k8s.io/exec"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterEntry:
    """An entry of `clusters`."""

    name: str
    server: str
    insecure_skip_tls_verify: bool
    certificate_authority: str
    certificate_authority_data: bytes = field(repr=False)
    tls_server_name: str
    proxy_url: str = field(repr=False)
    exec_config: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class UserEntry:
    """An entry of `users`."""

    name: str
    token: str = field(repr=False)
    token_file: str
    client_certificate: str
    client_certificate_data: bytes = field(repr=False)
    client_key: str
    client_key_data: bytes = field(repr=False)
    exec_entry: "MappingEntry | None" = field(repr=False)
    has_basic_auth: bool
    has_auth_provider: bool
    impersonates: bool

    @property
    def methods(self) -> list[str]:
        """The ways to authenticate that the entry offers."""
        has_token = bool(self.token or self.token_file)
        has_certificate = bool(self.client_certificate or self.client_certificate_data)
        offered = {"token": has_token, "exec": self.exec_entry is not None, "client certificate": has_certificate}
        return [method for method, is_offered in offered.items() if is_offered]


@dataclass(frozen=True, slots=True)
class Context:
    """An entry of `contexts`."""

    cluster: str
    user: str
    namespace: str


@dataclass(frozen=True, slots=True)
class MappingEntry:
    """A mapping in the file, with its place for messages."""

    place: str
    values: Mapping[str, object] = field(repr=False)

    def text(self, key: str) -> str:
        """Return a string, empty when it is absent."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(key, "must be a string")
        return value

    def flag(self, key: str) -> bool:
        """Return a switch, off when it is absent."""
        value = self.values.get(key)
        if not isinstance(value, bool | None):
            raise self.wrong(key, "must be true or false")
        return bool(value)

    def decoded(self, key: str) -> bytes:
        """Return what a base64 string holds, empty when it is absent."""
        text = self.text(key)
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            # Without the cause: a decoding error may quote what it could not decode.
            raise self.wrong(key, "is not base64") from None

    def entry(self, key: str) -> "MappingEntry | None":
        """Return a mapping, None when it is absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, "must be a mapping")
        return MappingEntry(f"{self.place}.{key}", value)

    def entries(self, key: str) -> "list[MappingEntry]":
        """Return the mappings of a list, none when it is absent."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, "must be a list of mappings")
        return [MappingEntry(f"{self.place}.{key}[{index}]", item) for index, item in enumerate(value)]

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the strings of a list, none when it is absent."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "must be a list of strings")
        return tuple(value)

    def has(self, *keys: str) -> bool:
        """Return whether one of the keys has a value that is not empty."""
        return any(self.values.get(key) not in (None, "", [], {}) for key in keys)

    def wrong(self, key: str, what: str) -> KubeconfigError:
        """Return the error that says what is wrong with a field."""
        place = f"{self.place}.{key}".removeprefix(".")
        return KubeconfigError(KubeconfigReason.INSECURE, f"failed to parse kubeconfig(apiconfig): {place} {what}")


def read_named(root: MappingEntry, key: str, inner: str, read: Callable[[str, MappingEntry], T]) -> dict[str, T]:
    """Return the entries of one of the file's three lists, by name."""
    found: dict[str, T] = {}
    for item in root.entries(key):
        name = item.text("name")
        if name in found:
            raise root.wrong(key, f'holds "{printable(name)}" twice')
        found[name] = read(printable(name), item.entry(inner) or MappingEntry(f"{item.place}.{inner}", {}))
    return found


def read_cluster(name: str, entry: MappingEntry) -> ClusterEntry:
    """Read an entry of `clusters`."""
    extensions = {item.text("name"): item.values.get("extension") for item in entry.entries("extensions")}
    return ClusterEntry(
        name=name,
        server=entry.text("server"),
        insecure_skip_tls_verify=entry.flag("insecure-skip-tls-verify"),
        certificate_authority=entry.text("certificate-authority"),
        certificate_authority_data=entry.decoded("certificate-authority-data"),
        tls_server_name=entry.text("tls-server-name"),
        proxy_url=entry.text("proxy-url"),
        exec_config=extensions.get(_CLUSTER_CONFIG_EXTENSION),
    )


def read_user(name: str, entry: MappingEntry) -> UserEntry:
    """Read an entry of `users`."""
    return UserEntry(
        name=name,
        token=entry.text("token"),
        token_file=entry.text("tokenFile"),
        client_certificate=entry.text("client-certificate"),
        client_certificate_data=entry.decoded("client-certificate-data"),
        client_key=entry.text("client-key"),
        client_key_data=entry.decoded("client-key-data"),
        exec_entry=entry.entry("exec"),
        has_basic_auth=entry.has("username", "password"),
        has_auth_provider=entry.has("auth-provider"),
        impersonates=entry.has("as", "as-uid", "as-groups", "as-user-extra"),
    )


def read_context(_name: str, entry: MappingEntry) -> Context:
    """Read an entry of `contexts`."""
    return Context(entry.text("cluster"), entry.text("user"), entry.text("namespace"))
