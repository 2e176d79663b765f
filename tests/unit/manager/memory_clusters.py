"""Clusters in memory that know users, service accounts, tokens and conflicts: enough to make and unmake workers.

A `Fuse` ends whatever runs at the n-th write, before or after it took effect.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from config.api.meta import ObjectKey
from config.kubeconfig.access import ClusterAccess
from workerclient.base.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    NotFound,
    Operation,
    Unauthenticated,
    Unavailable,
)
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Precondition
from workerclient.operator.tokens import ServiceToken
from workerclient.questions.preflight import Missing, Need
from workerclient.wire.codec import Identity, ListChunk

Raw = dict[str, Any]
ADMIN = "admin"
LIMITED = "limited"
"""A user who may only have tokens made."""
EXPIRES = "2027-01-01T00:00:00Z"


class CrashError(Exception):
    """The process was ended."""


@dataclass
class Fuse:
    """Ends what runs at a write; -1 never."""

    at: int = -1
    is_late: bool = False
    """Whether the write still takes effect."""
    written: int = 0

    def burn(self, *, is_done: bool) -> None:
        if is_done:
            self.written += 1
        if self.written == self.at + self.is_late and is_done == self.is_late and self.at >= 0:
            self.at = -1
            raise CrashError


@dataclass
class Cluster:
    """One cluster."""

    server: str
    fuse: Fuse
    uid: str = field(default_factory=lambda: str(uuid4()))
    objects: dict[str, dict[ObjectKey, Raw]] = field(default_factory=dict)
    version: int = 0
    honours_dead_tokens: bool = False
    is_down: bool = False
    forbidden_accounts: set[ObjectKey] = field(default_factory=set)
    """The accounts that only an administrator may have tokens made for."""
    _tokens: dict[str, tuple[ObjectKey, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.put("namespaces", {"metadata": {"name": "kube-system", "uid": self.uid}})

    def access(self, token: str = ADMIN) -> ClusterAccess:
        return ClusterAccess(self.server, ca=self.authority, token=token)

    @property
    def authority(self) -> bytes:
        body = base64.b64encode(self.server.encode()).decode()
        return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n".encode()

    def put(self, plural: str, document: Raw) -> Raw:
        """Store an object as it is, without asking who writes."""
        self.version += 1
        metadata = {"uid": str(uuid4()), **document["metadata"], "resourceVersion": str(self.version)}
        stored = {**deepcopy(document), "metadata": metadata}
        self.objects.setdefault(plural, {})[_key(stored)] = stored
        return stored

    def find(self, plural: str, name: str, namespace: str = "") -> Raw | None:
        return self.objects.get(plural, {}).get(ObjectKey(namespace, name))

    def names(self, plural: str) -> list[str]:
        return sorted(key.name for key in self.objects.get(plural, {}))

    def issue(self, account: ObjectKey) -> str:
        """Make a token of an account."""
        stored = self.objects.get("serviceaccounts", {})[account]
        claims = {"sub": f"system:serviceaccount:{account.namespace}:{account.name}", "jti": str(uuid4())}
        token = f"h.{base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.s"
        self._tokens[token] = (account, stored["metadata"]["uid"])
        return token

    def is_accepted(self, token: str | None) -> bool:
        """Return whether a token is good here."""
        if token in (ADMIN, LIMITED):
            return True
        account, uid = self._tokens.get(token or "", (ObjectKey("", ""), ""))
        stored = self.objects.get("serviceaccounts", {}).get(account)
        return uid != "" and (self.honours_dead_tokens or (stored is not None and stored["metadata"]["uid"] == uid))

    def may_work(self, token: str | None) -> bool:
        """Return whether the bearer of a token has the worker's role."""
        if not self.is_accepted(token) or token not in self._tokens:
            return token == ADMIN
        account, _ = self._tokens[token]
        return any(
            binding["roleRef"]["name"] == "turnstile-worker"
            and any(subject["name"] == account.name for subject in binding["subjects"])
            for binding in self.objects.get("clusterrolebindings", {}).values()
        ) and "turnstile-worker" in self.names("clusterroles")


class Clusters:
    """All clusters of a test, to be connected to by their addresses."""

    def __init__(self) -> None:
        self.fuse = Fuse()
        self._by_server: dict[str, Cluster] = {}

    def make(self, name: str) -> Cluster:
        made = self._by_server[f"https://{name}"] = Cluster(f"https://{name}", self.fuse)
        return made

    def connect(self, name: str, access: ClusterAccess) -> "View":
        return View(name, self._by_server[access.server], access)


@dataclass
class View:
    """A cluster as one user sees it."""

    name: str
    cluster: Cluster
    user: ClusterAccess

    def resource(self, kind: ApiKind) -> "Objects":
        return Objects(self, kind)

    def admit(self, operation: Operation) -> None:
        if self.cluster.is_down:
            raise Unavailable(operation, "no route to host")
        if not self.cluster.is_accepted(self.user.token):
            raise Unauthenticated(operation, "Unauthorized", remedy="")

    def authorize(self, operation: Operation) -> None:
        self.admit(operation)
        if self.user.token != ADMIN and not self.cluster.may_work(self.user.token):
            raise Forbidden(operation, "forbidden", remedy="")

    async def request_token(self, account: ObjectKey, seconds: int) -> ServiceToken:
        await asyncio.sleep(0)
        operation = Operation(self.name, "create", "serviceaccounts/token", str(account))
        self.admit(operation)
        assert seconds > 0
        if account in self.cluster.forbidden_accounts and self.user.token != ADMIN:
            raise Forbidden(operation, "forbidden", remedy="")
        if account not in self.cluster.objects.get("serviceaccounts", {}):
            raise NotFound(operation, "no such account")
        return ServiceToken(self.cluster.issue(account), EXPIRES)

    async def served_kinds(self, kinds: Iterable[ApiKind]) -> Mapping[ApiKind, bool]:
        return {kind: kind.group in ("", "batch", "kueue.x-k8s.io") for kind in kinds}

    async def missing_permissions(self, needs: Iterable[Need]) -> list[Missing]:
        self.admit(Operation(self.name, "create", "selfsubjectrulesreviews"))
        if self.cluster.may_work(self.user.token):
            return []
        return [Missing(verb, need.resource, need.kind) for need in needs for verb in need.verbs]

    async def close(self) -> None:
        return


@dataclass
class Objects:
    """The objects of one kind."""

    view: View
    kind: ApiKind

    @property
    def stored(self) -> dict[ObjectKey, Raw]:
        return self.view.cluster.objects.setdefault(self.kind.plural, {})

    def _operation(self, verb: str, key: ObjectKey) -> Operation:
        return Operation(self.view.name, verb, self.kind.resource, str(key))

    async def _begin(self, verb: str, key: ObjectKey) -> Operation:
        await asyncio.sleep(0)
        operation = self._operation(verb, key)
        self.view.authorize(operation)
        return operation

    async def get(self, key: ObjectKey) -> Raw:
        operation = await self._begin("get", key)
        if key not in self.stored:
            raise NotFound(operation, "not found")
        return deepcopy(self.stored[key])

    async def create(self, document: Raw) -> Raw:
        operation = await self._begin("create", _key(document))
        self.view.cluster.fuse.burn(is_done=False)
        if _key(document) in self.stored:
            raise AlreadyExists(operation, "exists")
        made = self.view.cluster.put(self.kind.plural, document)
        self.view.cluster.fuse.burn(is_done=True)
        return deepcopy(made)

    async def replace(self, document: Raw) -> Raw:
        operation = await self._begin("update", _key(document))
        self.view.cluster.fuse.burn(is_done=False)
        known = self.stored.get(_key(document))
        if known is None or known["metadata"]["resourceVersion"] != document["metadata"]["resourceVersion"]:
            raise Conflict(operation, "changed")
        made = self.view.cluster.put(self.kind.plural, document)
        self.view.cluster.fuse.burn(is_done=True)
        return deepcopy(made)

    async def merge_patch(self, key: ObjectKey, patch: Mapping[str, Any], precondition: Precondition) -> Raw:
        stored = await self.get(key)
        merged = {**stored, "spec": {**stored["spec"], **patch["spec"]}}
        return await self.replace({**merged, "metadata": {**stored["metadata"], **precondition.fields()}})

    async def delete(self, key: ObjectKey, precondition: Precondition) -> None:
        operation = await self._begin("delete", key)
        self.view.cluster.fuse.burn(is_done=False)
        if key not in self.stored:
            raise NotFound(operation, "not found")
        assert self.stored[key]["metadata"]["uid"] == precondition.uid
        del self.stored[key]
        self.view.cluster.fuse.burn(is_done=True)

    async def pages(self, *, label_selector: str = "", namespace: str = "") -> AsyncIterator[ListChunk]:
        await self._begin("list", ObjectKey(namespace, ""))
        wanted = [part.partition("=") for part in label_selector.split(",") if part]
        found = [
            (Identity(key, raw["metadata"]["uid"], raw["metadata"]["resourceVersion"]), deepcopy(raw))
            for key, raw in sorted(self.stored.items())
            if namespace in ("", key.namespace)
            and all(
                label in raw["metadata"].get("labels", {}) and (not equals or raw["metadata"]["labels"][label] == value)
                for label, equals, value in wanted
            )
        ]
        yield ListChunk(found, "1", "", 1, 1)


def _key(document: Raw) -> ObjectKey:
    return ObjectKey(document["metadata"].get("namespace", ""), document["metadata"]["name"])
