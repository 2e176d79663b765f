"""How answers are written: JSON or YAML, as objects, tables or metadata only, chosen by the Accept header.

Plain JSON joins the bytes that the ledger made; everything else is computed for the one who asks.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import assert_never

import orjson
import yaml

from config.api.meta import Obj
from localcluster.kinds.api_errors import not_acceptable
from localcluster.kinds.kinds import ServedKind
from localcluster.serving.lists import Page
from localcluster.serving.tables import IncludeObject, partial_metadata, table
from localcluster.store.ledger import Version

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
"""Understood in bodies, never chosen for answers: every known client accepts JSON as well."""
OFFERED = (JSON, YAML, PROTOBUF)
_JSON_RANGES = ("*/*", "application/*", JSON)


class Shape(StrEnum):
    """What is shown of an object."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True)
class Representation:
    """The encoding and the shape that a client accepts."""

    media_type: str = JSON
    shape: Shape = Shape.OBJECT

    @property
    def is_plain(self) -> bool:
        """Return whether stored bytes can be passed on as they are."""
        return self.media_type == JSON and self.shape is Shape.OBJECT


PLAIN = Representation()


@lru_cache(maxsize=256)
def negotiate(accept: str) -> Representation | None:
    """Return the first acceptable representation, None if there is none."""
    if not accept.strip():
        return PLAIN
    for clause in accept.split(","):
        media_type, *parameters = (part.strip() for part in clause.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        chosen = JSON if media_type in _JSON_RANGES else media_type
        if chosen not in (JSON, YAML):
            continue
        shape = given.get("as", "")
        if not shape:
            return Representation(chosen)
        if shape in tuple(Shape) and given.get("g") == "meta.k8s.io" and given.get("v") in ("v1", "v1beta1"):
            return Representation(chosen, Shape(shape))
    return None


def negotiated(accept: str) -> Representation:
    """Return the representation to answer in, or refuse."""
    found = negotiate(accept)
    if found is None:
        raise not_acceptable(OFFERED)
    return found


@dataclass(frozen=True, slots=True)
class View:
    """A representation together with what a table needs to know."""

    representation: Representation
    include: IncludeObject
    now: datetime

    def encode_object(self, kind: ServedKind, version: Version) -> bytes:
        """Return one object."""
        if self.representation.is_plain:
            return version.encoded
        return self.encode(self._shaped(kind, version, headers=True))

    def encode_page(self, kind: ServedKind, page: Page) -> bytes:
        """Return one page of a list."""
        meta: Obj = {"resourceVersion": str(page.revision)}
        if page.continue_token:
            meta["continue"] = page.continue_token
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
        if self.representation.is_plain:
            head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta}
            items = b",".join([version.encoded for version in page.versions])
            return orjson.dumps(head)[:-1] + b',"items":[' + items + b"]}"
        match self.representation.shape:
            case Shape.TABLE:
                shown = table(kind, page.versions, self.now, self.include, meta)
            case Shape.METADATA | Shape.METADATA_LIST:
                items_meta = [partial_metadata(version.obj) for version in page.versions]
                head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta}
                shown = {**head, "items": items_meta}
            case Shape.OBJECT:
                head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta}
                shown = {**head, "items": [version.obj for version in page.versions]}
            case _:
                assert_never(self.representation.shape)
        return self.encode(shown)

    def encode_event(self, kind: ServedKind, type_: str, version: Version, *, headers: bool) -> bytes:
        """Return one line of a watch."""
        if self.representation.is_plain:
            return event_line(type_, version.encoded)
        return event_line(type_, orjson.dumps(self._shaped(kind, version, headers=headers)))

    def encode(self, document: Obj) -> bytes:
        """Return any document in the negotiated encoding."""
        if self.representation.media_type == YAML:
            unshared = orjson.loads(orjson.dumps(document))
            text: str = yaml.safe_dump(unshared, sort_keys=False)
            return text.encode()
        return orjson.dumps(document)

    def _shaped(self, kind: ServedKind, version: Version, *, headers: bool) -> Obj:
        match self.representation.shape:
            case Shape.TABLE:
                meta = {"resourceVersion": str(version.revision)}
                return table(kind, [version], self.now, self.include, meta, headers=headers)
            case Shape.METADATA | Shape.METADATA_LIST:
                return partial_metadata(version.obj)
            case Shape.OBJECT:
                return version.obj
            case _:
                assert_never(self.representation.shape)


def event_line(type_: str, encoded: bytes) -> bytes:
    """Return a watch event around an encoded object."""
    return b'{"type":"' + type_.encode() + b'","object":' + encoded + b"}\n"
