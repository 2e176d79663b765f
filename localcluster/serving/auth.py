"""Authentication and authorization: bearer tokens, and rules in the shape of RBAC's.

A user without rules may do everything; with rules, only what one of them allows. Tokens are compared in constant time
and never appear in an answer.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, qualified, quoted, unauthorized

ANY = "*"
SERVER_AUDIENCE = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a request wants to do, as authorization sees it; a path when it concerns no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        """Return the resource with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Allow:
    """One rule: these verbs on these resources. Empty namespaces or names mean all of them."""

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = ()
    groups: tuple[str, ...] = (ANY,)
    namespaces: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def covers(self, wanted: Attributes) -> bool:
        """Tell whether the rule allows the request."""
        if not _has(self.verbs, wanted.verb):
            return False
        if wanted.path:
            return any(_matches_path(pattern, wanted.path) for pattern in self.paths)
        return (
            _has(self.groups, wanted.group)
            and _has(self.resources, wanted.full_resource)
            and (not self.namespaces or wanted.namespace in self.namespaces)
            and (not self.names or wanted.name in self.names)
        )


def _has(allowed: tuple[str, ...], wanted: str) -> bool:
    return ANY in allowed or wanted in allowed


def _matches_path(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith(ANY) else path == pattern


DISCOVERY = Allow(
    ("get",),
    paths=("/", "/api", "/api/*", "/apis", "/apis/*", "/openapi/*", "/version", "/healthz", "/livez", "/readyz"),
)
SELF_REVIEWS = Allow(
    ("create",),
    ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"),
    ("authorization.k8s.io", "authentication.k8s.io"),
)


@dataclass(frozen=True, slots=True)
class TokenUser:
    """A user with a token. `rules` None allows everything."""

    name: str
    token: str
    groups: tuple[str, ...] = ()
    rules: tuple[Allow, ...] | None = None
    audiences: tuple[str, ...] = (SERVER_AUDIENCE,)
    """For whom the token was made."""

    def may(self, wanted: Attributes) -> bool:
        """Tell whether the user may do this; discovery and self-reviews are open to every user."""
        if self.rules is None:
            return True
        return any(rule.covers(wanted) for rule in (*self.rules, DISCOVERY, SELF_REVIEWS))

    def described(self) -> Obj:
        """Return the user as reviews show it."""
        return {"username": self.name, "groups": [*self.groups, "system:authenticated"]}


class Users:
    """All users of a cluster."""

    def __init__(self, users: Iterable[TokenUser]) -> None:
        self._users = tuple(users)
        self._known_headers: dict[str, TokenUser] = {}

    def authenticate(self, authorization: str) -> TokenUser:
        """Return the user behind an Authorization header, or refuse."""
        known = self._known_headers.get(authorization)
        if known is not None:
            return known
        scheme, _, token = authorization.partition(" ")
        user = self.by_token(token.strip()) if scheme.lower() == "bearer" else None
        if user is None:
            raise unauthorized()
        self._known_headers[authorization] = user
        return user

    def by_token(self, token: str) -> TokenUser | None:
        """Return the user with this token, if there is one."""
        found = None
        for user in self._users:
            if hmac.compare_digest(user.token.encode(), token.encode()):
                found = user
        return found

    def by_name(self, name: str) -> TokenUser | None:
        """Return the user with this name, if there is one."""
        return next((user for user in self._users if user.name == name), None)


def refuse_if_forbidden(user: TokenUser, wanted: Attributes) -> None:
    """Refuse with the sentence of the real server."""
    if user.rules is None or user.may(wanted):
        return
    if wanted.path:
        message = f"forbidden: User {quoted(user.name)} cannot {wanted.verb} path {quoted(wanted.path)}"
        raise ApiError(403, "Forbidden", message, details={})
    scope = f"in the namespace {quoted(wanted.namespace)}" if wanted.namespace else "at the cluster scope"
    subject = qualified(wanted.resource, wanted.group) + (f" {quoted(wanted.name)}" if wanted.name else "")
    message = (
        f"{subject} is forbidden: User {quoted(user.name)} cannot {wanted.verb} resource "
        f'{quoted(wanted.full_resource)} in API group "{wanted.group}" {scope}'
    )
    details: Obj = {"kind": wanted.resource}
    if wanted.group:
        details["group"] = wanted.group
    if wanted.name:
        details["name"] = wanted.name
    raise ApiError(403, "Forbidden", message, details=details)
