"""Authentication and authorization: bearer tokens, and rules in the shape of RBAC's.

A user without rules may do everything; with rules, only what one of them allows. Service accounts get theirs from the
cluster's roles and bindings. Tokens are compared in constant time and appear in no answer but that to a TokenRequest.
"""

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

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
        """Return whether the rule allows the request."""
        if not _has(self.verbs, wanted.verb):
            return False
        if wanted.path:
            return any(_matches_path(pattern, wanted.path) for pattern in self.paths)
        return (
            _has(self.groups, wanted.group)
            and (_has(self.resources, wanted.full_resource) or _has_subresource(self.resources, wanted.subresource))
            and (not self.namespaces or wanted.namespace in self.namespaces)
            and (not self.names or wanted.name in self.names)
        )


def _has(allowed: tuple[str, ...], wanted: str) -> bool:
    return ANY in allowed or wanted in allowed


def _has_subresource(allowed: tuple[str, ...], subresource: str) -> bool:
    return bool(subresource) and f"{ANY}/{subresource}" in allowed


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
    """For which audiences the token was made."""

    def may(self, wanted: Attributes) -> bool:
        """Return whether the user may do this; discovery and self-reviews are open to every user."""
        if self.rules is None:
            return True
        return any(rule.covers(wanted) for rule in (*self.rules, DISCOVERY, SELF_REVIEWS))

    def described(self) -> Obj:
        """Return the user as reviews show it."""
        return {"username": self.name, "groups": [*self.groups, "system:authenticated"]}


class UserSource(Protocol):
    """Users that come and go with the cluster's objects."""

    def by_token(self, token: str) -> TokenUser | None:
        """Return the user with this token, if there is one now."""

    def by_name(self, user: str) -> TokenUser | None:
        """Return the user with this name, if there is one now."""


class Users:
    """All users of a cluster: those it was started with, and its service accounts."""

    def __init__(self, users: Iterable[TokenUser], accounts: UserSource) -> None:
        self._users = tuple(users)
        self._accounts = accounts
        self._known_headers: dict[str, TokenUser] = {}

    def authenticate(self, authorization: str) -> TokenUser:
        """Return the user behind an Authorization header, or refuse."""
        known = self._known_headers.get(authorization)
        if known is not None:
            return known
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise unauthorized()
        user = self._lasting(token.strip())
        if user is not None:
            self._known_headers[authorization] = user
            return user
        account = self._accounts.by_token(token.strip())
        if account is None or SERVER_AUDIENCE not in account.audiences:
            raise unauthorized()
        return account

    def by_token(self, token: str) -> TokenUser | None:
        """Return the user with this token, if there is one; for whom the token was made is not judged."""
        return self._lasting(token) or self._accounts.by_token(token)

    def _lasting(self, token: str) -> TokenUser | None:
        found = None
        for user in self._users:
            if hmac.compare_digest(user.token.encode(), token.encode()):
                found = user
        return found

    def by_name(self, name: str) -> TokenUser | None:
        """Return the user with this name, if there is one."""
        return next((user for user in self._users if user.name == name), None) or self._accounts.by_name(name)


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
