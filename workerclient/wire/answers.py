"""What a session makes of the raw HTTP answer of a server that may send anything.

Headers are read with our own few rules, because those of an HTTP library know more forms than an API server sends
and raise anything on the odd ones. Invariant: nothing but a `ClusterError` leaves `told_as_cluster_errors`, and no
error holds the token.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from workerclient.base.errors import ClusterError, Operation, ProtocolViolation, TooLarge, Unavailable, excerpt

_NO_MEDIA_TYPE: Final = "application/octet-stream"
"""What HTTP takes an answer for that does not say what it is."""
_LONGEST_MEDIA_TYPE: Final = 120
_MOST_DIGITS: Final = 18
"""Of a number in a header that is believed."""
_SHOWN_BYTES: Final = 1024
"""How much of a body's beginning may get into an error."""


class AnswerTooLargeError(Exception):
    """An answer outgrew the limit."""


async def read_body(headers: Mapping[str, str], content: aiohttp.StreamReader, limit: int) -> bytes:
    """Return the body; raises `AnswerTooLargeError` as soon as it is."""
    announced = number_in(headers, "Content-Length")
    if announced is not None and announced > limit:
        raise AnswerTooLargeError(f"the answer has {announced:.0f} bytes, the limit is {limit}")
    parts: list[bytes] = []
    size = 0
    async for chunk in content.iter_any():
        size += len(chunk)
        if size > limit:
            raise AnswerTooLargeError(f"the answer has more than {limit} bytes")
        parts.append(chunk)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def media_type(headers: Mapping[str, str]) -> str:
    """Return what the answer says it is; parameters such as the charset are ignored."""
    named, _, _ = headers.get("Content-Type", "").partition(";")
    return excerpt(named.strip().lower(), _LONGEST_MEDIA_TYPE) or _NO_MEDIA_TYPE


def number_in(headers: Mapping[str, str], header: str) -> float | None:
    """Return the number in a header; Kubernetes never sends the other form of Retry-After, a date."""
    text = headers.get(header, "")
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
    said = error.message if isinstance(error, HttpProcessingError) else str(error)
    text = without_token(said.encode(errors="replace"), authorization).decode() or type(error).__name__
    if isinstance(error, AnswerTooLargeError):
        return TooLarge(operation, text)
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return Unavailable(operation, text)
    if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError):
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
