"""What a kubeconfig may contain. Refusals that Kueue knows too are worded as Kueue v0.19.1 words them.

Kueue looks at every user and cluster for the first group of rules, and only at those in use for the second; so do we.
Beyond Kueue's rules: https only, no files named for client certificates and keys, only listed proxies, no
impersonation (ignoring it silently would act with more rights than the file grants), one way to authenticate.
"""

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from config.kubeconfig.entries import ClusterEntry, UserEntry
from config.sections.sections import KubeconfigPolicy
from config.types.syntax import is_host, normal_proxy_url

NO_CREDENTIALS: Final = "has no token, no client certificate and no exec plugin"


def refusals_anywhere(
    users: Mapping[str, UserEntry], clusters: Mapping[str, ClusterEntry], policy: KubeconfigPolicy
) -> Iterator[str]:
    """Yield what is not allowed in any entry, whether it is used or not."""
    for user in users.values():
        if user.token_file and not policy.allow_file_references:
            yield "tokenFile is not allowed"
    for cluster in clusters.values():
        yield from _cluster_refusals_anywhere(cluster, policy)


def refusals_in_use(cluster: ClusterEntry, user: UserEntry, policy: KubeconfigPolicy) -> Iterator[str]:
    """Yield what is not allowed in the chosen context."""
    yield from _server_refusals(cluster)
    yield from _proxy_refusals(cluster, policy)
    yield from _user_refusals(user, policy)


def cluster_refusals(cluster: ClusterEntry, policy: KubeconfigPolicy) -> Iterator[str]:
    """Yield what is not allowed in a cluster's entry that stands alone; files named there belong to another machine."""
    yield from _cluster_refusals_anywhere(cluster, policy.model_copy(update={"allow_file_references": False}))
    yield from _server_refusals(cluster)
    yield from _proxy_refusals(cluster, policy)


def _cluster_refusals_anywhere(cluster: ClusterEntry, policy: KubeconfigPolicy) -> Iterator[str]:
    if cluster.insecure_skip_tls_verify:
        yield f"insecure TLS verification is not allowed for cluster {cluster.name}"
    if cluster.certificate_authority and not policy.allow_file_references:
        yield (
            "certificate-authority file paths are not allowed, "
            f"use certificate-authority-data for cluster {cluster.name}"
        )
    if not cluster.server:
        yield f"server URL is required for cluster {cluster.name}"


def _server_refusals(cluster: ClusterEntry) -> Iterator[str]:
    if not cluster.server:
        return
    parts = _split(cluster.server)
    if parts is None or not is_host(parts.hostname or "") or parts.query or parts.fragment:
        yield "untrusted server endpoint"
    elif parts.scheme != "https":
        yield f"server URL must use https for cluster {cluster.name}"
    elif "@" in parts.netloc:
        yield "basic auth is not allowed"


def _proxy_refusals(cluster: ClusterEntry, policy: KubeconfigPolicy) -> Iterator[str]:
    if cluster.proxy_url and normal_proxy_url(cluster.proxy_url) not in policy.allowed_proxies:
        yield f"proxy-url is not in kubeconfigPolicy.allowedProxies for cluster {cluster.name}"


def _user_refusals(user: UserEntry, policy: KubeconfigPolicy) -> Iterator[str]:
    if user.has_basic_auth:
        yield "basic auth is not allowed"
    if user.exec_entry is not None and not policy.allow_exec_plugins:
        yield "exec plugins are not allowed"
    if user.has_auth_provider:
        yield "auth providers are not allowed"
    if user.impersonates:
        yield "impersonation is not allowed"
    if (user.client_certificate or user.client_key) and not policy.allow_file_references:
        yield (
            "client-certificate and client-key file paths are not allowed, "
            f"use client-certificate-data and client-key-data for user {user.name}"
        )
    methods = user.methods
    if len(methods) > 1:
        yield f"more than one authentication method found for user {user.name}: {', '.join(methods)}"
    elif not methods and not user.has_basic_auth and not user.has_auth_provider:
        yield f"user {user.name} {NO_CREDENTIALS}"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is not a port
    except ValueError:
        return None
    return parts
