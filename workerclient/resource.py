"""Reading and writing one kind on one cluster.

Every write but a create carries what it is based on, and a cluster where that no longer holds answers `Conflict`:
drop the decision and look again. The answer to a write is put into the kind's cache, so a decision never misses its
predecessor's effect.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from config.names import FIELD_MANAGER
from workerclient import codec
from workerclient.budget import Lane
from workerclient.cache import Cache
from workerclient.codec import Page, Raw
from workerclient.errors import Operation, TooLarge
from workerclient.kind import ApiKind, Key
from workerclient.session import Request
from workerclient.transport import Transport
from workerclient.watched import WatchedKind

Value = TypeVar("Value")

_MANAGED = {"fieldManager": FIELD_MANAGER}


@dataclass(frozen=True, slots=True)
class Precondition:
    """Which incarnation, and if given which version of an object a write is meant for."""

    uid: str
    resource_version: str | None = None

    def fields(self) -> dict[str, str]:
        """Return the condition as metadata fields."""
        if self.resource_version is None:
            return {"uid": self.uid}
        return {"uid": self.uid, "resourceVersion": self.resource_version}


@dataclass(slots=True)
class Line:
    """The way to a cluster; its transport is replaced as a whole when the access to the cluster changes."""

    cluster: str
    transport: Transport


@dataclass(frozen=True, slots=True)
class CachedKind(Generic[Value]):
    """A watched kind with the cache that its reflector keeps."""

    watched: WatchedKind[Value]
    cache: Cache[Value]

    def remember(self, operation: Operation, raw: Raw) -> None:
        """Take the answer to our own write."""
        identity = codec.identity_of(operation, raw)
        if self.cache.holds(identity):
            return  # the watch was faster
        self.cache.wrote(identity, self.watched.read(identity, raw))


class Resource(Generic[Value]):
    """One kind on one cluster."""

    def __init__(self, line: Line, kind: ApiKind, cached: CachedKind[Value] | None = None) -> None:
        self._line = line
        self._kind = kind
        self._cached = cached

    async def get(self, key: Key, *, lane: Lane = Lane.BULK) -> Raw:
        """Return the object as the cluster holds it now; not from the cache, and not put there."""
        operation = self._operation("get", key)
        request = Request(operation, "GET", self._kind.object_path(key))
        body = await self._line.transport.call(request, lane=lane, repeatable=True)
        return codec.decode_object(operation, body, self._kind)

    async def create(self, document: Raw, *, lane: Lane = Lane.BULK) -> Raw:
        """Create the object and return it as stored.

        Repeated only while it is certain that nothing was carried out; after a timeout the caller looks again.
        """
        metadata = document["metadata"]
        namespace = metadata.get("namespace", "")
        operation = self._operation("create", Key(namespace, metadata.get("name") or metadata.get("generateName", "")))
        path = self._kind.collection_path(namespace)
        request = Request(operation, "POST", path, _MANAGED, codec.encode(document), codec.JSON)
        return await self._write(request, lane, repeatable=False)

    async def replace(self, document: Raw, *, subresource: str = "", lane: Lane = Lane.BULK) -> Raw:
        """Put a whole object in place of the version that it was made from."""
        identity = codec.identity_of(self._operation("update", Key("", "")), document)
        operation = self._operation("update", identity.key, subresource)
        path = self._kind.object_path(identity.key, subresource)
        request = Request(operation, "PUT", path, _MANAGED, codec.encode(document), codec.JSON)
        return await self._write(request, lane, repeatable=True)

    async def merge_patch(
        self,
        key: Key,
        patch: Mapping[str, Any],
        precondition: Precondition,
        *,
        subresource: str = "",
        lane: Lane = Lane.BULK,
    ) -> Raw:
        """Merge fields into the object (RFC 7386); the precondition goes along in the metadata."""
        metadata = {**patch.get("metadata", {}), **precondition.fields()}
        body = codec.encode({**patch, "metadata": metadata})
        return await self._patch(key, body, codec.MERGE_PATCH, subresource, lane, repeatable=True)

    async def json_patch(
        self,
        key: Key,
        steps: Sequence[Mapping[str, Any]],
        precondition: Precondition,
        *,
        subresource: str = "",
        lane: Lane = Lane.BULK,
    ) -> Raw:
        """Apply steps to the object (RFC 6902); the precondition goes along as first steps."""
        conditions = [
            {"op": "replace", "path": f"/metadata/{field}", "value": value}
            for field, value in precondition.fields().items()
        ]
        body = codec.encode([*conditions, *steps])
        repeatable = precondition.resource_version is not None  # "append" twice is not the same as once
        return await self._patch(key, body, codec.JSON_PATCH, subresource, lane, repeatable=repeatable)

    async def delete(
        self, key: Key, precondition: Precondition, *, propagation: str = "Background", lane: Lane = Lane.BULK
    ) -> None:
        """Delete that incarnation of the object; it may stay for its finalizers or a grace period."""
        operation = self._operation("delete", key)
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": precondition.fields(),
            "propagationPolicy": propagation,
        }
        path = self._kind.object_path(key)
        request = Request(operation, "DELETE", path, body=codec.encode(options), content_type=codec.JSON)
        left = codec.decode_deletion(operation, await self._line.transport.call(request, lane=lane, repeatable=True))
        if self._cached is None:
            return
        if left is None:
            self._cached.cache.deleted(key, precondition.uid)
        else:
            self._cached.remember(operation, left)

    async def pages(
        self,
        *,
        label_selector: str = "",
        namespace: str = "",
        page_size: int = 500,
        lane: Lane = Lane.BULK,
        patience: float = 1.0,
    ) -> AsyncGenerator[Page, None]:
        """Yield a consistent list chunk by chunk, each in a single attempt.

        A chunk that is too large is asked for again at half the size. Raises `Expired` when the list took so long that
        the cluster forgot its beginning.
        """
        operation = self._operation("list", Key(namespace, ""))
        token = ""
        while True:
            parameters = {"limit": str(page_size)}
            if label_selector:
                parameters["labelSelector"] = label_selector
            if token:
                parameters["continue"] = token
            path = self._kind.collection_path(namespace)
            request = Request(operation, "GET", path, parameters, patience=patience)
            try:
                body = await self._line.transport.call_once(request, lane=lane)
            except TooLarge:
                if page_size == 1:
                    raise
                page_size //= 2
                continue
            page = codec.decode_page(operation, body, self._kind)
            yield page
            token = page.next_token
            if not token:
                return

    async def _patch(
        self, key: Key, body: bytes, content_type: str, subresource: str, lane: Lane, *, repeatable: bool
    ) -> Raw:
        path = self._kind.object_path(key, subresource)
        request = Request(self._operation("patch", key, subresource), "PATCH", path, _MANAGED, body, content_type)
        return await self._write(request, lane, repeatable=repeatable)

    async def _write(self, request: Request, lane: Lane, *, repeatable: bool) -> Raw:
        body = await self._line.transport.call(request, lane=lane, repeatable=repeatable)
        stored = codec.decode_object(request.operation, body, self._kind)
        if self._cached is not None:
            self._cached.remember(request.operation, stored)
        return stored

    def _operation(self, verb: str, key: Key, subresource: str = "") -> Operation:
        resource = f"{self._kind.resource}/{subresource}" if subresource else self._kind.resource
        return Operation(self._line.cluster, verb, resource, str(key))
