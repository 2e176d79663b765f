"""What a session makes of the raw HTTP answer of a server that may send anything.

Headers are read with our own few rules, because those of an HTTP library know more forms than a server of ours sends
and raise anything on the odd ones. Invariant: nothing but a `ClusterError` leaves `told_as_cluster_errors`, and no
error holds the token.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import aiohttp

from workerclient.base.errors import ClusterError, Operation, ProtocolViolation, TooLarge, Unavailable, excerpt

_NO_MEDIA_TYPE: Final = "application/octet-stream"
"""What HTTP takes an answer for that does not say what it is."""
_LONGEST_MEDIA_TYPE: Final = 120
_MOST_DIGITS: Final = 18
"""Of a number in a header that is believed."""
_SHOWN_BYTES: Final = 1024
"""How much of a body's beginning may get into an error."""


async def read_body(operation: Operation, response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the body; raises `TooLarge` as soon as it is."""
    announced = number_in(response, "Content-Length")
    if announced is not None and announced > limit:
        response.close()
        raise TooLarge(operation, f"the answer has {announced:.0f} bytes, the limit is {limit}")
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > limit:
            response.close()
            raise TooLarge(operation, f"the answer has more than {limit} bytes")
        parts.append(chunk)
    return b"".join(parts)


def media_type(response: aiohttp.ClientResponse) -> str:
    """Return what the answer says it is; parameters such as the charset are not looked at."""
    named, _, _ = response.headers.get("Content-Type", "").partition(";")
    return excerpt(named.strip().lower(), _LONGEST_MEDIA_TYPE) or _NO_MEDIA_TYPE


def number_in(response: aiohttp.ClientResponse, header: str) -> float | None:
    """Return the number in a header; Kubernetes never sends the other form of Retry-After, a date."""
    text = response.headers.get(header, "")
    return float(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


@contextmanager
def told_as_cluster_errors(operation: Operation, authorization: str | None) -> Iterator[None]:
    """Let nothing leave but a `ClusterError`; the deadline of the enclosed block has struck before."""
    try:
        yield
    except ClusterError:
        raise
    except Exception as error:
        raise _wire_error(operation, error, authorization) from error


def _wire_error(operation: Operation, error: Exception, authorization: str | None) -> ClusterError:
    text = without_token(str(error).encode(errors="replace"), authorization).decode() or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return Unavailable(operation, text)
    if isinstance(error, aiohttp.ClientResponseError):
        return ProtocolViolation(operation, f"expected HTTP/1.1, got something else: {text}")
    if isinstance(error, aiohttp.ClientError | OSError):
        return Unavailable(operation, text, executed=True)
    return ProtocolViolation(operation, f"the response cannot be parsed: {type(error).__name__}: {text}")


def without_token(content: bytes, authorization: str | None) -> bytes:
    """Return what a server sent without our own token, if that stands where an error may quote it."""
    token = (authorization or "").partition(" ")[2].encode()
    if not token or token not in content[: _SHOWN_BYTES + len(token)]:
        return content
    return content.replace(token, b"[token]")
