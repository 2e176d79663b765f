"""Where each worker's kubeconfig is, and what it grants: from the configuration file or a MultiKueueCluster."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.profiles import access_from_profile
from config.kubeconfig.sources import load_secret_kubeconfig, load_worker_kubeconfig
from config.names import KUBECONFIG_KEY
from config.sections import Worker
from config.settings import Configuration
from gates.activity import ClusterRecord, Health
from manager.hub import HubLink
from manager.kinds import PROFILES, SECRETS
from workerclient.cluster import ClusterClient
from workerclient.errors import NotFound, NotServed
from workerclient.kind import ApiKind, Key

if TYPE_CHECKING:
    from workerclient.codec import Raw
    from workerclient.resource import Resource


@dataclass(frozen=True, slots=True)
class Source:
    """Where one worker's kubeconfig is: exactly one of the three."""

    name: str
    path: Path | None = None
    secret: str = ""
    key: str = KUBECONFIG_KEY
    profile: str = ""
    context: str | None = None


def sources(configuration: Configuration, hub: HubLink) -> dict[str, Source]:
    """Return the workers that there should be; an entry of the file wins over a MultiKueueCluster."""
    clusters = (hub.clusters.cache.get(key) for key in hub.clusters.cache)
    return known_sources(configuration, (each for each in clusters if isinstance(each, ClusterRecord)))


def known_sources(configuration: Configuration, clusters: Iterable[ClusterRecord]) -> dict[str, Source]:
    """Return the workers that there should be with these MultiKueueClusters on the hub."""
    options = {worker.name: worker for worker in configuration.workers}
    found: dict[str, Source] = {}
    if configuration.discovery.enabled:
        found = {cluster.name: _discovered(cluster, options.get(cluster.name)) for cluster in clusters}
    return found | listed_sources(configuration)


def listed_sources(configuration: Configuration) -> dict[str, Source]:
    """Return the workers whose kubeconfig the file names."""
    found: dict[str, Source] = {}
    for worker in configuration.workers:
        if worker.kubeconfig is not None:
            secret = worker.kubeconfig.secret
            found[worker.name] = Source(
                worker.name,
                path=worker.kubeconfig.path,
                secret=secret.name if secret is not None else "",
                key=secret.key if secret is not None else KUBECONFIG_KEY,
                context=worker.context,
            )
    return found


def _discovered(cluster: ClusterRecord, options: Worker | None) -> Source:
    context = options.context if options is not None else None
    if cluster.profile:
        return Source(cluster.name, profile=cluster.profile)
    if cluster.location_type == "Path":
        return Source(cluster.name, path=Path(cluster.location), context=context)
    return Source(cluster.name, secret=cluster.location, context=context)


class AccessLoader:
    """Reads kubeconfigs and holds them to the policy."""

    def __init__(self, hub: ClusterClient | None, configuration: Configuration) -> None:
        """Without a hub only files can be read."""
        self._hub = hub
        self.reconfigure(configuration)

    def change_hub(self, hub: ClusterClient | None) -> None:
        """Read Secrets and profiles by another client from now on."""
        self._hub = hub

    def reconfigure(self, configuration: Configuration) -> None:
        """Hold kubeconfigs to another policy from now on."""
        self._policy = configuration.kubeconfig_policy
        self._profiles_settings = configuration.cluster_profiles
        self._namespace = configuration.hub.namespace

    async def load(self, source: Source) -> ClusterAccess | Health:
        """Return the access that a source grants, or why it grants none.

        Raises `ClusterError` when the hub does not answer, which says nothing about the worker.
        """
        try:
            if source.profile:
                return await self._load_profile(source.profile)
            if source.path is not None:
                return await asyncio.to_thread(load_worker_kubeconfig, source.path, self._policy, source.context)
            return await self._load_secret(source)
        except KubeconfigError as error:
            return _refused(error.reason, error.condition_message)

    def _on_hub(self, kind: ApiKind) -> "Resource[Raw]":
        if self._hub is None:
            raise KubeconfigError(KubeconfigReason.BAD, f"{kind.resource} are on the hub, which is not known")
        return self._hub.resource(kind)

    async def _load_profile(self, name: str) -> ClusterAccess:
        if not self._profiles_settings.enabled:
            message = "MultiKueueClusterProfile feature gate is disabled (set clusterProfiles.enabled)"
            raise KubeconfigError(KubeconfigReason.PROFILES_OFF, message)
        try:
            profile = await self._on_hub(PROFILES).get(Key(self._namespace, name))
        except NotFound:
            message = f'{PROFILES.resource} "{name}" not found in namespace "{self._namespace}"'
            raise KubeconfigError(KubeconfigReason.BAD_PROFILE, message) from None
        except NotServed:
            message = f"the hub does not serve {PROFILES.resource} at version {PROFILES.version}"
            raise KubeconfigError(KubeconfigReason.BAD_PROFILE, message) from None
        return access_from_profile(profile, self._profiles_settings.access_providers, self._policy)

    async def _load_secret(self, source: Source) -> ClusterAccess:
        try:
            secret = await self._on_hub(SECRETS).get(Key(self._namespace, source.secret))
        except NotFound:
            message = f'secrets "{source.secret}" not found in namespace "{self._namespace}"'
            raise KubeconfigError(KubeconfigReason.BAD, message) from None
        data = secret.get("data") or {}
        return load_secret_kubeconfig(source.secret, data, source.key, self._policy, source.context)


def _refused(reason: str, message: str) -> Health:
    return Health(is_active=False, reason=reason, message=message)
