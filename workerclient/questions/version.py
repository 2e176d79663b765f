"""Which release a cluster's API server is of."""

from workerclient.base.errors import Operation, ProtocolViolation
from workerclient.objects.resource import Connection
from workerclient.transport.session import Request
from workerclient.wire import codec


async def server_version(line: Connection) -> str:
    """Return the version, such as `v1.36.3`; every authenticated user may read it."""
    operation = Operation(line.cluster, "get", "/version")
    body = await line.transport.call(Request(operation, "GET", "/version"), repeatable=True)
    version = codec.decode_any_object(operation, body, "a version").get("gitVersion")
    if not isinstance(version, str) or not version:
        raise ProtocolViolation(operation, "expected a version with gitVersion")
    return version
