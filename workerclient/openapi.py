"""A cluster's own description of a group of kinds, to learn which fields it knows."""

from workerclient import codec
from workerclient.codec import Raw
from workerclient.errors import Operation
from workerclient.kind import ApiKind
from workerclient.resource import Line
from workerclient.session import Request


async def openapi_document(line: Line, kind: ApiKind) -> Raw:
    """Return the OpenAPI v3 document of a kind's group version; every authenticated user may read it."""
    path = f"/openapi/v3{kind.group_path}"
    operation = Operation(line.cluster, "get", path)
    body = await line.transport.call(Request(operation, "GET", path), repeatable=True)
    return codec.decode_any_object(operation, body, "an OpenAPI document")
