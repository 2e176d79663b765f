"""A cluster's own description of a group of kinds, to learn which fields it knows."""

from config.api.meta import Obj
from workerclient.base.errors import Operation
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Connection
from workerclient.transport.session import Request
from workerclient.wire import codec


async def openapi_document(line: Connection, kind: ApiKind) -> Obj:
    """Return the OpenAPI v3 document of a kind's group version; every authenticated user may read it."""
    path = f"/openapi/v3{kind.group_path}"
    operation = Operation(line.cluster, "get", path)
    body = await line.transport.call(Request(operation, "GET", path), repeatable=True)
    return codec.decode_any_object(operation, body, "an OpenAPI document")


async def openapi_hash(line: Connection, kind: ApiKind) -> str:
    """Return what changes whenever that document does, from the index of all; nothing where the index is silent."""
    path = "/openapi/v3"
    operation = Operation(line.cluster, "get", path)
    body = await line.transport.call(Request(operation, "GET", path, may_be_plain_text=True), repeatable=True)
    paths = codec.decode_any_object(operation, body, "an index of OpenAPI documents").get("paths")
    entry = paths.get(kind.group_path.strip("/")) if isinstance(paths, dict) else None
    address = entry.get("serverRelativeURL") if isinstance(entry, dict) else None
    return address if isinstance(address, str) else ""
