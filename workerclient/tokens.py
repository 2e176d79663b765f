"""Asks a cluster for a token of one of its service accounts.

Invariant: the token is in no repr and no error; an answer that cannot be understood is not quoted.
"""

from dataclasses import dataclass, field
from typing import Final

from workerclient import codec
from workerclient.errors import Operation, ProtocolViolation
from workerclient.kind import ApiKind, Key
from workerclient.resource import Line
from workerclient.session import Request

SERVICE_ACCOUNTS: Final = ApiKind("", "v1", "ServiceAccount", "serviceaccounts")


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token and when it ends, as the cluster says it (RFC 3339)."""

    token: str = field(repr=False)
    expires: str


async def request_token(line: Line, account: Key, seconds: int) -> ServiceToken:
    """Have a token made; the cluster may give it a shorter life than asked for."""
    operation = Operation(line.cluster, "create", f"{SERVICE_ACCOUNTS.resource}/token", str(account))
    spec = {"expirationSeconds": seconds}
    body = codec.encode({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
    path = SERVICE_ACCOUNTS.object_path(account, "token")
    request = Request(operation, "POST", path, body=body, content_type=codec.JSON)
    answer = await line.transport.call(request, repeatable=True)  # a token more does no harm
    status = codec.decode_any_object(operation, answer, "a TokenRequest").get("status")
    token, expires = (status.get("token"), status.get("expirationTimestamp")) if isinstance(status, dict) else ("", "")
    if not (isinstance(token, str) and token and isinstance(expires, str)):
        raise ProtocolViolation(operation, "expected a TokenRequest with status.token and status.expirationTimestamp")
    return ServiceToken(token, expires)
