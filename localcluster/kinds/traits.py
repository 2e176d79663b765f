"""How the API server treats built-in kinds differently from custom resources.

These are facts about Kubernetes, not about one kind's schema: a `ServedKind` describes the fields, this the habits.
"""

from localcluster.kinds.kinds import ServedKind

_WITHOUT_GENERATION = frozenset(
    {
        "namespaces",
        "secrets",
        "events",
        "events.events.k8s.io",
        "nodes",
        "leases.coordination.k8s.io",
    }
)
_CREATED_BY_PUT = frozenset({"leases.coordination.k8s.io", "events", "events.events.k8s.io"})
_NEEDS_VERSION_ON_PUT = frozenset({"leases.coordination.k8s.io", "poddisruptionbudgets.policy"})
_ORPHANS_BY_DEFAULT = frozenset({"jobs.batch"})


def is_builtin(kind: ServedKind) -> bool:
    """Return whether Kubernetes itself serves the kind, rather than a CustomResourceDefinition."""
    return "." not in kind.group or kind.group.endswith(".k8s.io")


def is_service_account(kind: ServedKind) -> bool:
    """Tell whether the kind is the core ServiceAccount, for which tokens are made."""
    return _resource(kind) == "serviceaccounts"


def has_generation(kind: ServedKind) -> bool:
    """Return whether the server counts generations of the kind."""
    return _resource(kind) not in _WITHOUT_GENERATION


def is_created_by_put(kind: ServedKind) -> bool:
    """Return whether PUT to a free name creates the object."""
    return _resource(kind) in _CREATED_BY_PUT


def needs_version_on_put(kind: ServedKind) -> bool:
    """Return whether PUT without a resourceVersion is refused rather than taken as unconditional."""
    return not is_builtin(kind) or _resource(kind) in _NEEDS_VERSION_ON_PUT


def orphans_by_default(kind: ServedKind) -> bool:
    """Return whether deletion without a propagation policy leaves dependents alone."""
    return _resource(kind) in _ORPHANS_BY_DEFAULT


def _resource(kind: ServedKind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural
