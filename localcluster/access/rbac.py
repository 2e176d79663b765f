"""What roles and bindings allow a user: the rules of RBAC, read from the cluster's objects at each request."""

from collections.abc import Iterator

from config.api.meta import Obj
from localcluster.access.auth import Allow
from localcluster.store.store import Store

_GROUP = "rbac.authorization.k8s.io"
_COLLECTIONS = {
    kind: f"{kind.lower()}s.{_GROUP}/v1" for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
}


def granted_rules(store: Store, user: str, groups: tuple[str, ...]) -> tuple[Allow, ...]:
    """Return the rules of all roles that are bound to a user or to one of its groups.

    A role that aggregates others grants only the rules that are written in it.
    """
    return tuple(
        _rule(rule, namespace)
        for namespace, binding in _bindings(store)
        if any(_is_subject(subject, namespace, user, groups) for subject in binding.get("subjects") or ())
        for rule in _rules_of_role(store, namespace, binding.get("roleRef") or {})
    )


def _bindings(store: Store) -> Iterator[tuple[str, Obj]]:
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        collection = store.ledger.collections.get(_COLLECTIONS[kind])
        for version in collection.scan() if collection is not None else ():
            yield version.key[0], version.obj


def _is_subject(subject: Obj, namespace: str, user: str, groups: tuple[str, ...]) -> bool:
    name = subject.get("name")
    match subject.get("kind"):
        case "ServiceAccount":
            return user == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
        case "User":
            return name == user
        case "Group":
            return name in groups
    return False


def _rules_of_role(store: Store, namespace: str, reference: Obj) -> list[Obj]:
    collection = store.ledger.collections.get(_COLLECTIONS.get(reference.get("kind", ""), ""))
    scope = namespace if reference.get("kind") == "Role" else ""
    role = collection.get((scope, reference.get("name", ""))) if collection is not None else None
    return [rule for rule in role.obj.get("rules") or () if isinstance(rule, dict)] if role is not None else []


def _rule(rule: Obj, namespace: str) -> Allow:
    """Return one rule; a binding in a namespace grants nothing outside it, and no paths."""
    return Allow(
        verbs=_texts(rule, "verbs"),
        resources=_texts(rule, "resources"),
        groups=_texts(rule, "apiGroups"),
        namespaces=(namespace,) if namespace else (),
        names=_texts(rule, "resourceNames"),
        paths=() if namespace else _texts(rule, "nonResourceURLs"),
    )


def _texts(rule: Obj, field: str) -> tuple[str, ...]:
    return tuple(map(str, rule.get(field) or ()))
