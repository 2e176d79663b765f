"""From an operator's kubeconfig files to the access that one context grants.

kubernetes-asyncio merges the files and chooses how to authenticate. Three of its steps are replaced: certificates are
not written to temporary files, an exec plugin is bounded in time and its output stays out of messages, and an expired
OIDC token is not renewed, because the library would send the refresh token without verifying the issuer's certificate.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader

from config.api.meta import NANOSECONDS
from config.kubeconfig.access import ClientCertificate, ClusterAccess
from config.kubeconfig.credentials import CredentialError, parse_token_file, token_expiry
from config.kubeconfig.entries import MappingEntry
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import read_exec_plugin
from config.kubeconfig.policy import NO_CREDENTIALS
from config.types.syntax import UNSENDABLE, normal_proxy_url
from workerclient.base.clock import Clock
from workerclient.operator.merging import ChosenContext, Entry, choose
from workerclient.transport.exec_plugin import ExecTokens

RUN_BY_HAND: Final = "run the command by hand to see why"
_IMPERSONATION: Final = ("as", "as-uid", "as-groups", "as-user-extra")
_EXEC_CONFIG: Final = "client.authentication.k8s.io/exec"
_MATERIALS: Final = ("certificate-authority", "client-certificate", "client-key")
_METHODS: Final = ("token", "tokenFile", "client-certificate", "client-certificate-data", "exec", "auth-provider")
_READ_HERE: Final = {"tokenFile", "auth-provider", *_MATERIALS, *(f"{name}-data" for name in _MATERIALS)}
"""What the library does not get to see, because it is read here."""


async def load_operator_access(
    paths: Sequence[Path], context: str, clock: Clock, environment: Mapping[str, str] = os.environ
) -> ClusterAccess:
    """Return what a context grants; raises `OperatorKubeconfigError`. An exec plugin is run once, now."""
    return await _Loading(choose(paths, context), clock, environment).access()


@dataclass(frozen=True, slots=True)
class _Loading:
    chosen: ChosenContext
    clock: Clock
    environment: Mapping[str, str]

    async def access(self) -> ClusterAccess:
        cluster, user = self.chosen.cluster, self.chosen.user
        _refuse_unusable(cluster, user)
        reachable = ClusterAccess(
            server=cluster.text("server").rstrip("/"),
            ca=cluster.material("certificate-authority"),
            tls_server_name=cluster.text("tls-server-name") or None,
            proxy_url=_proxy_url(cluster),
            namespace=self.chosen.context.text("namespace") or None,
        )
        loaded = await self._loaded(reachable)
        return ClusterAccess(
            server=str(loaded.host),
            ca=reachable.ca,
            tls_server_name=reachable.tls_server_name,
            proxy_url=reachable.proxy_url,
            namespace=reachable.namespace,
            token=_bearer_token(loaded, user),
            client_certificate=_client_certificate(user),
            token_is_renewed=any(key in user.values for key in ("exec", "auth-provider", "tokenFile")),
        )

    async def _loaded(self, reachable: ClusterAccess) -> Configuration:
        """Return the library's view of the context."""
        configuration = Configuration()
        try:
            loader = _Loader(self._document(), self.chosen, self._plugin(reachable), self.clock)
            await loader.load_and_set(configuration)
        except (ConfigException, LookupError, TypeError, AttributeError):
            # Without what the library says: it puts whole entries, credentials included, into its messages.
            raise self.chosen.user.wrong("cannot be used; compare it with `kubectl config view`") from None
        return configuration

    def _plugin(self, reachable: ClusterAccess) -> ExecTokens | None:
        cluster, user = self.chosen.cluster, self.chosen.user
        described = user.values.get("exec")
        if described is None:
            return None
        if not isinstance(described, dict):
            raise user.wrong("has an exec that is not a mapping")
        extensions = cluster.values.get("extensions")
        cluster_config = next(
            (
                each.get("extension")
                for each in (extensions if isinstance(extensions, list) else ())
                if isinstance(each, dict) and each.get("name") == _EXEC_CONFIG
            ),
            None,
        )
        try:
            plugin = read_exec_plugin(MappingEntry("exec", described), user.path.parent, cluster_config)
        except KubeconfigError as error:
            raise user.wrong(f"has an exec plugin that cannot be used: {error}") from None
        return ExecTokens(plugin, reachable, self.clock, self.environment)

    def _document(self) -> dict[str, Any]:
        cluster, user, context = self.chosen.cluster, self.chosen.user, self.chosen.context
        token = self._token()
        known = {key: value for key, value in user.values.items() if key not in _READ_HERE}
        return {
            "current-context": context.name,
            "contexts": [{"name": context.name, "context": dict(context.values)}],
            "clusters": [{"name": cluster.name, "cluster": _without_material(cluster)}],
            "users": [{"name": user.name, "user": known | ({"token": token} if token else {})}],
        }

    def _token(self) -> str:
        """Return the token that the entry holds, or that its token file or its OIDC login holds now."""
        user = self.chosen.user
        if "auth-provider" in user.values:
            return self._id_token()
        content = user.token_file()
        if content is None:
            return user.text("token")
        try:
            return parse_token_file(content).token or ""
        except CredentialError as error:
            raise user.wrong(f"{error}; write a token into it") from None

    def _id_token(self) -> str:
        user = self.chosen.user
        provider = user.values["auth-provider"]
        name = provider.get("name") if isinstance(provider, dict) else None
        if name != "oidc":
            raise user.wrong("uses an auth-provider that Kubernetes no longer supports; use an exec plugin instead")
        settings = provider.get("config")
        token = settings.get("id-token") if isinstance(settings, dict) else None
        if not isinstance(token, str) or not token:
            raise user.wrong("has no OIDC id-token; log in again, or use an exec plugin")
        ends = token_expiry(token)
        if ends is not None and ends <= datetime.fromtimestamp(self.clock.now_ns() / NANOSECONDS, UTC):
            raise user.wrong("has an OIDC id-token that has expired; run kubectl once with this context, to renew it")
        return token


class _Loader(KubeConfigLoader):
    """The library's loader, with an exec plugin that is run under our rules."""

    def __init__(self, document: Mapping[str, Any], chosen: ChosenContext, plugin: ExecTokens | None, clock: Clock):
        super().__init__(dict(document), active_context=chosen.context.name)
        self._entry = chosen.user
        self._plugin = plugin
        self._clock = clock

    async def load_from_exec_plugin(self) -> bool:
        """Run the plugin once and take its token."""
        if self._plugin is None:
            return False
        try:
            token = await self._plugin.fetch(datetime.fromtimestamp(self._clock.now_ns() / NANOSECONDS, UTC))
        except CredentialError as error:
            raise self._entry.wrong(f"cannot authenticate: {error}; {RUN_BY_HAND}") from None
        self.token = f"Bearer {token.secret}"
        return True


def _refuse_unusable(cluster: Entry, user: Entry) -> None:
    """Refuse what our sessions do not do, rather than act otherwise than the file says."""
    if _scheme(cluster.text("server")) != "https":
        raise cluster.wrong("has no server with an https address")
    if cluster.values.get("insecure-skip-tls-verify"):
        raise cluster.wrong("has insecure-skip-tls-verify; name its certificate-authority instead")
    if any(user.values.get(key) for key in _IMPERSONATION):
        raise user.wrong("impersonates another user, which is not supported; use a context that does not")
    if user.values.get("username") or user.values.get("password"):
        raise user.wrong("has a password, which API servers no longer accept; use a token, certificate or exec plugin")
    if not any(user.values.get(key) for key in _METHODS):
        raise user.wrong(f"{NO_CREDENTIALS}; log in first")


def _proxy_url(cluster: Entry) -> str | None:
    if not (named := cluster.text("proxy-url")):
        return None
    if (proxy := normal_proxy_url(named)) is None:
        raise cluster.wrong("has a proxy-url that cannot be used; name http://HOST:PORT without a user or a path")
    return proxy


def _scheme(server: str) -> str:
    try:
        return urlsplit(server).scheme
    except ValueError:
        return ""


def _without_material(cluster: Entry) -> dict[str, Any]:
    return {key: value for key, value in cluster.values.items() if key not in _READ_HERE}


def _bearer_token(loaded: Configuration, user: Entry) -> str | None:
    header = loaded.api_key.get("BearerToken")
    if header is None:
        return None
    try:
        return parse_token_file(header.removeprefix("Bearer ").encode()).token
    except CredentialError:
        raise user.wrong(f"has a token with {UNSENDABLE}") from None


def _client_certificate(user: Entry) -> ClientCertificate | None:
    certificate, key = user.material("client-certificate"), user.material("client-key")
    if (certificate is None) != (key is None):
        raise user.wrong("needs both client-certificate and client-key")
    return ClientCertificate(certificate, key) if certificate is not None and key is not None else None
