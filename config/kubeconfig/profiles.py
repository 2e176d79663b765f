"""From a ClusterProfile to the access that it grants together with a configured command, or to the reason why not."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.kubeconfig.access import ClusterAccess, ExecPlugin
from config.kubeconfig.entries import ClusterEntry, MappingEntry, read_cluster
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.parsing import PEM, not_pem
from config.kubeconfig.policy import cluster_refusals
from config.sections.cluster_profiles import AccessProvider
from config.sections.sections import KubeconfigPolicy
from config.types.syntax import normal_proxy_url

_FIELDS = ("credentialProviders", "accessProviders")
"""Where a profile lists its providers; of two with the same name the later list's counts."""


def access_from_profile(
    profile: Mapping[str, Any], providers: Iterable[AccessProvider], policy: KubeconfigPolicy
) -> ClusterAccess:
    """Return the access of the first configured provider that the profile lists."""
    offered = dict(_offered(profile))
    chosen = next((provider for provider in providers if provider.name in offered), None)
    if chosen is None:
        known = f"; the ClusterProfile offers: {', '.join(sorted(offered))}" if offered else ""
        raise KubeconfigError(KubeconfigReason.BAD_PROFILE, f"no access provider configured{known}")
    try:
        cluster = read_cluster(chosen.name, offered[chosen.name])
    except KubeconfigError as error:
        raise KubeconfigError(KubeconfigReason.BAD_REST, error.problems) from None
    problems = list(cluster_refusals(cluster, policy))
    if cluster.certificate_authority_data and PEM not in cluster.certificate_authority_data:
        problems.append(not_pem("certificate-authority-data"))
    if problems:
        raise KubeconfigError(KubeconfigReason.BAD_REST, problems)
    return _access(cluster, chosen)


def _offered(profile: Mapping[str, Any]) -> Iterator[tuple[str, MappingEntry]]:
    try:
        status = MappingEntry("", profile).entry("status") or MappingEntry(".status", {})
        for entry in (entry for field in _FIELDS for entry in status.entries(field)):
            yield entry.text("name"), entry.entry("cluster") or MappingEntry(f"{entry.place}.cluster", {})
    except KubeconfigError as error:
        raise KubeconfigError(KubeconfigReason.BAD_PROFILE, error.problems) from None


def _access(cluster: ClusterEntry, provider: AccessProvider) -> ClusterAccess:
    plugin = ExecPlugin(
        command=str(provider.command),
        api_version=provider.api_version,
        args=provider.args,
        env=tuple((variable.name, variable.value) for variable in provider.env),
        provide_cluster_info=provider.provide_cluster_info,
        cluster_config=cluster.exec_config,
    )
    return ClusterAccess(
        server=cluster.server.rstrip("/"),
        ca=cluster.certificate_authority_data or None,
        tls_server_name=cluster.tls_server_name or None,
        proxy_url=normal_proxy_url(cluster.proxy_url) if cluster.proxy_url else None,
        exec_plugin=plugin,
    )
