"""Where each worker's kubeconfig is, and what it grants: from the configuration file or a MultiKueueCluster."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.parser import KubeconfigParser
from config.kubeconfig.profiles import access_from_profile
from config.kubeconfig.sources import load_secret_kubeconfig, load_worker_kubeconfig
from config.names import KUBECONFIG_KEY
from config.sections.sections import WorkerSection
from config.sections.settings import Configuration
from gates.model.activity import ClusterRecord, Health
from manager.base.kinds import PROFILES, SECRETS
from manager.clusters.hub import HubLink
from workerclient.base.errors import NotFound, NotServed
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient
from workerclient.transport.endpoint import prepare_endpoint
from workerclient.transport.file_threads import ThreadRunner, in_file_thread

if TYPE_CHECKING:
    from workerclient.objects.resource import Resource


@dataclass(frozen=True, slots=True)
class WorkerKubeconfigSource:
    """Where one worker's kubeconfig is: exactly one of the three."""

    name: WorkerName
    path: Path | None = None
    secret: str = ""
    key: str = KUBECONFIG_KEY
    profile: str = ""
    context: str | None = None


def sources(configuration: Configuration, hub: HubLink) -> dict[WorkerName, WorkerKubeconfigSource]:
    """Return the workers that there should be; an entry of the file wins over a MultiKueueCluster."""
    clusters = (hub.clusters.cache.get(key) for key in hub.clusters.cache)
    return known_sources(configuration, (each for each in clusters if isinstance(each, ClusterRecord)))


def known_sources(
    configuration: Configuration, clusters: Iterable[ClusterRecord]
) -> dict[WorkerName, WorkerKubeconfigSource]:
    """Return the workers that there should be with these MultiKueueClusters on the hub."""
    options = {worker.name: worker for worker in configuration.workers}
    found: dict[WorkerName, WorkerKubeconfigSource] = {}
    if configuration.discovery.enabled:
        found = {cluster.name: _discovered(cluster, options.get(cluster.name)) for cluster in clusters}
    return found | listed_sources(configuration)


def seniority(configuration: Configuration, hub: HubLink) -> dict[WorkerName, tuple[int, int]]:
    """Return how the workers that there should be come one after the other: the file's first, then by creation."""
    file = {name: (0, position) for position, name in enumerate(listed_sources(configuration))}
    clusters = {key.name: hub.clusters.cache.get(key) for key in hub.clusters.cache}
    created = {name: (1, each.created_ns) for name, each in clusters.items() if isinstance(each, ClusterRecord)}
    return {name: file.get(name) or created.get(name, (1, 0)) for name in sources(configuration, hub)}


def listed_sources(configuration: Configuration) -> dict[WorkerName, WorkerKubeconfigSource]:
    """Return the workers whose kubeconfig the file names."""
    found: dict[WorkerName, WorkerKubeconfigSource] = {}
    for worker in configuration.workers:
        if worker.kubeconfig is not None:
            secret = worker.kubeconfig.secret
            found[worker.name] = WorkerKubeconfigSource(
                worker.name,
                path=worker.kubeconfig.path,
                secret=secret.name if secret is not None else "",
                key=secret.key if secret is not None else KUBECONFIG_KEY,
                context=worker.context,
            )
    return found


def _discovered(cluster: ClusterRecord, options: WorkerSection | None) -> WorkerKubeconfigSource:
    context = options.context if options is not None else None
    if cluster.profile:
        return WorkerKubeconfigSource(cluster.name, profile=cluster.profile)
    if cluster.location_type == "Path":
        return WorkerKubeconfigSource(cluster.name, path=Path(cluster.location), context=context)
    return WorkerKubeconfigSource(cluster.name, secret=cluster.location, context=context)


class WorkerSources:
    """The workers that there should be, by the configuration in force and the hub's MultiKueueClusters."""

    def __init__(self, configuration: Configuration, hub: HubLink) -> None:
        self._configuration = configuration
        self._hub = hub

    def reconfigure(self, configuration: Configuration) -> None:
        """Go by another configuration from now on."""
        self._configuration = configuration

    def wanted(self) -> dict[WorkerName, WorkerKubeconfigSource]:
        """Return where the kubeconfig of each worker is."""
        return sources(self._configuration, self._hub)

    def seniority(self) -> dict[WorkerName, tuple[int, int]]:
        """Return the order in which the workers were added."""
        return seniority(self._configuration, self._hub)


class AccessLoader:
    """Reads kubeconfigs and holds them to the policy; off the loop, whatever they hold, and once per content."""

    def __init__(
        self, hub: ClusterClient | None, configuration: Configuration, in_thread: ThreadRunner = in_file_thread
    ) -> None:
        """Without a hub only files can be read."""
        self._hub = hub
        self._in_thread = in_thread
        self.parser = KubeconfigParser()
        self.reconfigure(configuration)

    def change_hub(self, hub: ClusterClient | None) -> None:
        """Read Secrets and profiles by another client from now on."""
        self._hub = hub

    def reconfigure(self, configuration: Configuration) -> None:
        """Hold kubeconfigs to another policy from now on."""
        self._policy = configuration.kubeconfig_policy
        self._profiles_settings = configuration.cluster_profiles
        self._namespace = configuration.hub.namespace

    async def load(self, source: WorkerKubeconfigSource) -> ClusterAccess | Health:
        """Return the access that a source grants, or why it grants none.

        Raises `ClusterError` when the hub does not answer, which says nothing about the worker.
        """
        try:
            if source.profile:
                access = await self._load_profile(source.profile)
                return await self._in_thread((self, source), prepare_endpoint, access)
            if source.path is not None:
                return await self._in_thread((self, source), self._read_file, source, source.path)
            return await self._load_secret(source)
        except KubeconfigError as error:
            return _refused(error.reason, error.condition_message)

    def _on_hub(self, kind: ApiKind) -> "Resource[Obj]":
        if self._hub is None:
            raise KubeconfigError(KubeconfigReason.BAD, f"{kind.resource} are on the hub, which is not known")
        return self._hub.resource(kind)

    async def _load_profile(self, name: str) -> ClusterAccess:
        if not self._profiles_settings.enabled:
            message = "MultiKueueClusterProfile feature gate is disabled (set clusterProfiles.enabled)"
            raise KubeconfigError(KubeconfigReason.PROFILES_OFF, message)
        try:
            profile = await self._on_hub(PROFILES).get(ObjectKey(self._namespace, name))
        except NotFound:
            message = f'{PROFILES.resource} "{name}" not found in namespace "{self._namespace}"'
            raise KubeconfigError(KubeconfigReason.BAD_PROFILE, message) from None
        except NotServed:
            message = f"the hub does not serve {PROFILES.resource} at version {PROFILES.version}"
            raise KubeconfigError(KubeconfigReason.BAD_PROFILE, message) from None
        return access_from_profile(profile, self._profiles_settings.access_providers, self._policy)

    async def _load_secret(self, source: WorkerKubeconfigSource) -> ClusterAccess:
        try:
            secret = await self._on_hub(SECRETS).get(ObjectKey(self._namespace, source.secret))
        except NotFound:
            message = f'secrets "{source.secret}" not found in namespace "{self._namespace}"'
            raise KubeconfigError(KubeconfigReason.BAD, message) from None
        data = secret.get("data") or {}
        return await self._in_thread((self, source), self._read_secret, source, data)

    def _read_file(self, source: WorkerKubeconfigSource, path: Path) -> ClusterAccess:
        return prepare_endpoint(load_worker_kubeconfig(path, self._policy, source.context, self.parser))

    def _read_secret(self, source: WorkerKubeconfigSource, data: Mapping[str, str]) -> ClusterAccess:
        policy, parser = self._policy, self.parser
        access = load_secret_kubeconfig(source.secret, data, source.key, policy, source.context, parser)
        return prepare_endpoint(access)


def _refused(reason: str, message: str) -> Health:
    return Health(is_active=False, reason=reason, message=message)
