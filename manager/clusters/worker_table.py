"""What is known of workers beside their connections, from the configuration and from MultiKueueClusters.

The labels of both count. Where a label has two values, that of the configuration holds.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from config.sections.sections import WorkerSection
from config.sections.settings import Configuration
from gates.model.activity import ClusterRecord, ConfigRecord
from gates.targets.matching import MILLION, WorkerTraits, selected
from workerclient.objects.cache import Cache


class ConfiguredWorkers:
    """The workers of the configuration in force."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.sections: Mapping[WorkerName, WorkerSection] = {}
        self.discovers = True
        self.version = 0
        """Grows with every change."""
        if configuration is not None:
            self.reconfigure(configuration)

    def reconfigure(self, configuration: Configuration) -> None:
        """Go by another configuration from now on."""
        self.sections = {worker.name: worker for worker in configuration.workers}
        self.discovers = configuration.discovery.enabled
        self.version += 1


class WorkerTable:
    """Joins what the configuration says of workers with what their MultiKueueClusters say."""

    def __init__(self, configured: ConfiguredWorkers, clusters: Cache[ClusterRecord]) -> None:
        self._configured = configured
        self._clusters = clusters
        self._changes = 0
        self._resolved: dict[ConfigRecord, tuple[tuple[int, int], ConfigRecord]] = {}

    def note_change(self) -> None:
        """Take note that a MultiKueueCluster changed."""
        self._changes += 1

    def traits(self, name: WorkerName) -> WorkerTraits:
        """Return what rules go by about a worker."""
        cluster = self._clusters.get(ObjectKey("", name))
        return traits_of(self._configured.sections.get(name), cluster if isinstance(cluster, ClusterRecord) else None)

    def resolved(self, config: ConfigRecord) -> ConfigRecord:
        """Return a MultiKueueConfig with the clusters that it leads to: those that its selector matches, if any."""
        if not config.selector:
            return config
        version = (self._configured.version, self._changes)
        known = self._resolved.get(config)
        if known is None or known[0] != version:
            self._resolved = {each: found for each, found in self._resolved.items() if found[0] == version}
            known = self._resolved[config] = (version, self._resolve(config))
        return known[1]

    def _resolve(self, config: ConfigRecord) -> ConfigRecord:
        clusters = {WorkerName(key.name) for key in self._clusters} if self._configured.discovers else set()
        return resolve_config(config, {name: self.traits(name) for name in (*clusters, *self._configured.sections)})


def traits_of(section: WorkerSection | None, cluster: ClusterRecord | None) -> WorkerTraits:
    """Return what both say about a worker."""
    labels = dict(cluster.labels) if cluster is not None else {}
    is_cordoned = cluster is not None and cluster.is_cordoned
    if section is None:
        return WorkerTraits(labels, is_cordoned=is_cordoned)
    prices = {name: round(price * MILLION) for name, price in section.cost_per_hour}
    return WorkerTraits({**labels, **dict(section.labels)}, round(section.weight * MILLION), prices, is_cordoned)


def listed_traits(configuration: Configuration, clusters: Iterable[ClusterRecord]) -> dict[WorkerName, WorkerTraits]:
    """Return the same for all workers that the configuration and these MultiKueueClusters name."""
    sections = {worker.name: worker for worker in configuration.workers}
    known = {cluster.name: cluster for cluster in clusters}
    discovered = known if configuration.discovery.enabled else {}
    return {name: traits_of(sections.get(name), known.get(name)) for name in {**discovered, **sections}}


def resolve_config(config: ConfigRecord, traits: Mapping[WorkerName, WorkerTraits]) -> ConfigRecord:
    """Return a MultiKueueConfig with the clusters that it leads to, of these workers."""
    if not config.selector:
        return config
    labels = {name: found.labels for name, found in traits.items()}
    return replace(config, clusters=selected(config.selector, config.clusters, labels))
