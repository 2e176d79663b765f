"""Reading and writing one kind on one cluster.

Every write but a create carries what it is based on, and a cluster where that no longer holds answers `Conflict`: drop
the decision and reconcile again. The answer to a write is put into the kind's cache, so a decision never misses its
predecessor's effect.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from config.api.meta import Obj, ObjectKey
from config.names import FIELD_MANAGER
from workerclient.base.errors import Operation, ProtocolViolation, TooLarge
from workerclient.base.kind import ApiKind
from workerclient.objects.cache import Cache
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import RequestPriority
from workerclient.transport.session import Request
from workerclient.transport.transport import Transport
from workerclient.wire import codec
from workerclient.wire.codec import ListChunk

Value = TypeVar("Value")

_MANAGED: Final = {"fieldManager": FIELD_MANAGER}
_FIRST_PAGE: Final = 100
"""How many items are asked for before it is known how large they are."""
_PAGE_BYTES: Final = 1 << 20
"""The largest part of a list: what is parsed in about 20 ms. A single object may be as large as any answer."""
_IDLE_PAGES: Final = 1000
"""How many parts a list may have beyond one for each item; those without items are legitimate, but not without end."""
_MOST_BYTES: Final = 1 << 30
"""The largest list, for any caller."""


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


def is_same(stored: Obj, version: str) -> bool:
    """Return whether the answer to a write is the very version that it was based on: nothing was changed by it."""
    return bool(stored["metadata"].get("resourceVersion") == version)


@dataclass(slots=True)
class Connection:
    """The connection to a cluster; its transport is replaced as a whole when the access to the cluster changes."""

    cluster: str
    transport: Transport


@dataclass(frozen=True, slots=True)
class CachedKind(Generic[Value]):
    """A watched kind with the cache that its reflector keeps."""

    watched: WatchedKind[Value]
    cache: Cache[Value]

    def remember(self, operation: Operation, raw: Obj) -> None:
        """Take the answer to our own write."""
        identity = codec.identity_of(operation, raw)
        if self.cache.holds(identity):
            return  # the watch was faster
        self.cache.wrote(identity, self.watched.read(identity, raw))


class Resource(Generic[Value]):
    """One kind on one cluster."""

    def __init__(self, line: Connection, kind: ApiKind, cached: CachedKind[Value] | None = None) -> None:
        self._line = line
        self.kind = kind
        self._cached = cached
        self._fitting = _FIRST_PAGE

    async def get(
        self, key: ObjectKey, *, priority: RequestPriority = RequestPriority.BULK, repeatable: bool = True
    ) -> Obj:
        """Return the object as the cluster holds it now; not from the cache, and not put there."""
        operation = self._operation("get", key)
        request = Request(operation, "GET", self.kind.object_path(key))
        body = await self._line.transport.call(request, priority=priority, repeatable=repeatable)
        return codec.decode_object(operation, body, self.kind)

    async def create(
        self, document: Obj, *, priority: RequestPriority = RequestPriority.BULK, not_after: float | None = None
    ) -> Obj:
        """Create the object and return it as stored.

        Repeated only while it is certain that nothing was carried out; after a timeout the caller reads the state
        again. Nothing is sent after `not_after` on the steady clock.
        """
        metadata = document["metadata"]
        namespace = metadata.get("namespace", "")
        operation = self._operation(
            "create", ObjectKey(namespace, metadata.get("name") or metadata.get("generateName", ""))
        )
        path = self.kind.collection_path(namespace)
        body = codec.encode(document)
        request = Request(operation, "POST", path, _MANAGED, body, codec.JSON, not_after=not_after)
        return await self._write(request, priority, repeatable=False)

    async def replace(
        self, document: Obj, *, subresource: str = "", priority: RequestPriority = RequestPriority.BULK
    ) -> Obj:
        """Put a whole object in place of the version that it was made from."""
        identity = codec.identity_of(self._operation("update", ObjectKey("", "")), document)
        operation = self._operation("update", identity.key, subresource)
        path = self.kind.object_path(identity.key, subresource)
        request = Request(operation, "PUT", path, _MANAGED, codec.encode(document), codec.JSON)
        return await self._write(request, priority, repeatable=True)

    async def merge_patch(
        self,
        key: ObjectKey,
        patch: Mapping[str, Any],
        precondition: Precondition,
        *,
        subresource: str = "",
        priority: RequestPriority = RequestPriority.BULK,
    ) -> Obj:
        """Merge fields into the object (RFC 7386); the precondition goes along in the metadata."""
        metadata = {**patch.get("metadata", {}), **precondition.fields()}
        body = codec.encode({**patch, "metadata": metadata})
        return await self._write(self._patch(key, body, codec.MERGE_PATCH, subresource), priority, repeatable=True)

    async def json_patch(
        self,
        key: ObjectKey,
        steps: Sequence[Mapping[str, Any]],
        precondition: Precondition,
        *,
        subresource: str = "",
        priority: RequestPriority = RequestPriority.BULK,
        not_after: float | None = None,
    ) -> Obj:
        """Apply steps to the object (RFC 6902); the precondition goes along as first steps.

        Nothing is sent after `not_after` on the steady clock.
        """
        conditions = [
            {"op": "replace", "path": f"/metadata/{field}", "value": value}
            for field, value in precondition.fields().items()
        ]
        body = codec.encode([*conditions, *steps])
        repeatable = precondition.resource_version is not None  # "append" twice is not the same as once
        request = self._patch(key, body, codec.JSON_PATCH, subresource)
        return await self._write(replace(request, not_after=not_after), priority, repeatable=repeatable)

    async def delete(
        self,
        key: ObjectKey,
        precondition: Precondition,
        *,
        propagation: str = "Background",
        priority: RequestPriority = RequestPriority.BULK,
    ) -> None:
        """Delete that incarnation of the object; it may stay for its finalizers or a grace period."""
        operation = self._operation("delete", key)
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": precondition.fields(),
            "propagationPolicy": propagation,
        }
        path = self.kind.object_path(key)
        request = Request(operation, "DELETE", path, body=codec.encode(options), content_type=codec.JSON)
        left = codec.decode_deletion(
            operation, await self._line.transport.call(request, priority=priority, repeatable=True)
        )
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
        priority: RequestPriority = RequestPriority.BULK,
        patience: float = 1.0,
    ) -> AsyncGenerator[ListChunk, None]:
        """Yield a consistent list chunk by chunk, each in a single attempt.

        Chunks are as long as fits into the size that is parsed in one piece; one that is larger is asked for again at
        half the length. Raises `Expired` when the list took so long that the cluster forgot its beginning.
        """
        operation = self._operation("list", ObjectKey(namespace, ""))
        token, limit = "", min(page_size, self._fitting)
        extent = _Extent(operation)
        while True:
            parameters = {"limit": str(limit)}
            if label_selector:
                parameters["labelSelector"] = label_selector
            if token:
                parameters["continue"] = token
            path = self.kind.collection_path(namespace)
            most_bytes = _PAGE_BYTES if limit > 1 else None
            request = Request(operation, "GET", path, parameters, patience=patience, max_bytes=most_bytes)
            try:
                body = await self._line.transport.call_once(request, priority=priority)
                page = codec.decode_page(operation, body, self.kind, limit)
            except TooLarge:
                if limit == 1:
                    raise
                limit = self._fitting = limit // 2
                continue
            extent.add(page, token)
            yield page
            token = page.next_token
            if not token:
                return
            if page.items:
                self._fitting = max(1, len(page.items) * _PAGE_BYTES * 3 // 4 // page.size)
                limit = min(page_size, self._fitting)

    def _patch(self, key: ObjectKey, body: bytes, content_type: str, subresource: str) -> Request:
        path = self.kind.object_path(key, subresource)
        return Request(self._operation("patch", key, subresource), "PATCH", path, _MANAGED, body, content_type)

    async def _write(self, request: Request, priority: RequestPriority, *, repeatable: bool) -> Obj:
        body = await self._line.transport.call(request, priority=priority, repeatable=repeatable)
        stored = codec.decode_object(request.operation, body, self.kind)
        if self._cached is not None:
            self._cached.remember(request.operation, stored)
        return stored

    def _operation(self, verb: str, key: ObjectKey, subresource: str = "") -> Operation:
        resource = f"{self.kind.resource}/{subresource}" if subresource else self.kind.resource
        return Operation(self._line.cluster, verb, resource, str(key))


class _Extent:
    """How long a list is so far; one that leads nowhere is given up."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._pages = self._items = self._bytes = 0

    def add(self, page: ListChunk, token: str) -> None:
        """Count a part; `token` is the one by which it was asked for."""
        self._pages += 1
        self._items += len(page.items)
        self._bytes += page.size
        if page.next_token and page.next_token == token:
            raise ProtocolViolation(self._operation, "the list repeats an earlier continue token")
        if self._pages > _IDLE_PAGES + self._items:
            problem = f"the list does not end: {self._pages} pages with {self._items} items"
            raise ProtocolViolation(self._operation, problem)
        if self._bytes > _MOST_BYTES:
            raise ProtocolViolation(self._operation, f"the list has more than {_MOST_BYTES} bytes")
