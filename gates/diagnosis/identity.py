"""Findings about which cluster is behind a worker's name."""

from collections.abc import Iterator, Mapping
from typing import Final

from gates.diagnosis.finding import Finding, Topic, error, warning

IS_HUB: Final = "is the hub itself, which cannot be its own worker"


def unidentified(cluster: str, role: str) -> Iterator[Finding]:
    """Conclude from a cluster that does not say which one it is."""
    message = "it does not allow get on namespaces kube-system: a second name for the same cluster cannot be detected"
    yield warning(cluster, Topic.IDENTITY, message, f"apply {role} there")


def is_same_cluster(others: str) -> str:
    """Say that a cluster has several names."""
    return f"is the same cluster as {others}: only one of these names is used"


def identity_findings(clusters: Mapping[str, str], hub_uid: str | None) -> Iterator[Finding]:
    """Conclude from the identities of all workers; only one name of a cluster is used."""
    names: dict[str, list[str]] = {}
    for name, uid in sorted(clusters.items()):
        names.setdefault(uid, []).append(name)
    for uid, same in names.items():
        if uid == hub_uid:
            for name in same:
                yield error(name, Topic.IDENTITY, f"it {IS_HUB}", "fix its kubeconfig, or remove it from the list")
        elif len(same) > 1:
            for name in same:
                others = ", ".join(other for other in same if other != name)
                yield error(
                    name,
                    Topic.IDENTITY,
                    f"it {is_same_cluster(others)}",
                    "keep one name for it in all MultiKueueConfigs",
                )
