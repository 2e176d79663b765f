"""Raw answers: honest ones, and hostile ones, all made from a seed and a number."""

from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

import orjson

from manager.base.kinds import WORKLOADS
from tests.fuzz import documents
from tests.support.odd_answers import ODD_MEDIA_TYPES


class Ending(StrEnum):
    """What the server does after an answer."""

    KEEP = "keep"
    CLOSE = "close"
    ABORT = "abort"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The bytes that are sent, and what comes then."""

    raw: bytes
    ending: Ending


_STATUS_LINES: Final = (
    *("HTTP/1.1 200 OK",) * 40,
    *(f"HTTP/1.1 {code} x" for code in (201, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 408, 409, 410, 413)),
    *(f"HTTP/1.1 {code} x" for code in (418, 422, 429, 429, 500, 500, 502, 503, 504, 599, 600, 999, 100, 101, 103)),
    *("HTTP/1.0 200 OK", "HTTP/2 200", "HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK"),
    *("HTTP/1.1 -1 OK", "http/1.1 200 OK", "ICY 200 OK", "HTTP/9.9 200 OK", "200 OK", "", "\x00", "HTTP/1.1 200 \xff"),
    *("HTTP/1.1 2\u00b2 OK".encode("latin-1", "replace").decode("latin-1"), "HTTP/1.1 200 " + "x" * 9000),
)
_MEDIA_TYPES: Final = (
    *("application/json",) * 30,
    *("", ";", "text/html", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json, text/html"),
    *("application/vnd.kubernetes.protobuf", "multipart/mixed; boundary=x", "application/json;charset=\xff", "/"),
    *("application/json; charset*=utf-8''%ff", "application/json; a*0*=x; a*1*=%", 'application/json; a="', "a/b/c"),
    *ODD_MEDIA_TYPES.values(),
)
_HEADERS: Final = (
    *("Date: Sun, 15 Jun 2025 15:06:40 GMT",) * 4,
    *("Date: Sun, 99 Foo 99999 99:99:99 GMT", "Date: ", "Date: \xff", "Date: Sun, 15 Jun 2025 15:06:40 +99999999"),
    *(f"Date: Sun, {'1' * 4400} Jun 2025 15:06:40 GMT", "Date: 0", "Date: Sun, 15 Jun -1 15:06:40 GMT"),
    *("Retry-After: 1", "Retry-After: 86400", f"Retry-After: {'9' * 400}", "Retry-After: \xb2", "Retry-After: -1"),
    *("Retry-After: Sun, 15 Jun 2025 15:06:40 GMT", "Content-Encoding: gzip", "Content-Encoding: deflate"),
    *("Content-Encoding: br", "Content-Encoding: \xff", "Set-Cookie: a=b; Max-Age=x; Expires=\xff", "Set-Cookie: ;=;"),
    *("Connection: close", "Connection: upgrade", "Upgrade: h2c", "Keep-Alive: timeout=x", "Location: http://[::1"),
    *("Link: <>; rel=", "WWW-Authenticate: Basic realm=\xff", "Trailer: a", "X: " + "x" * 9000, "No colon", ": empty"),
    *(" folded: x", "A B: c", "\x00: x", "X-\xff: y", "Content-Length: 3", "Content-Length: -1", "Content-Length: +5"),
    *("Content-Length: 99999999999999999999", "Content-Length: 1, 2", "Content-Length: x", "Content-Range: bytes */*"),
    *("Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: \xff", "TE: x"),
    *("Content-Disposition: a; b*=", "Audit-Id: x", "Warning: 299 - x", "X-Kubernetes-Pf-Flowschema-Uid: x"),
)
_LARGE: Final = 100_000
"""What has grown to this is not tampered with once more."""
_DAMAGE: Final = (
    *(b"\xff", b"\\ud800", b"NaN", b"1e999", b'"a":1,"a":', b"[" * 1100, b"]", b"{", b"\x00", b"\n", b"\r\n", b'"'),
    *(b"9" * 400, b"\xed\xa0\x80", b"\xef\xbb\xbf", b"//", b"," * 50, b"{}" * 50, b"[[]]" * 50),
)


def answer_to(asked: Asked, rng: Random) -> Reply:
    """Return an answer; about every third one is honest, so that what comes after it is reached too."""
    version = rng.randrange(1, 1000)
    kind = documents.KINDS.get(asked.path)
    is_watch = "watch=true" in asked.query
    honesty = rng.random()
    if kind is not None and is_watch:
        events = [documents.event_of(kind, rng, version + n) for n in range(rng.randrange(6))]
        body = b"".join(_encoded(event, rng, honesty) + b"\n" for event in events)
    elif kind is not None and asked.method == "GET":
        body = _encoded(documents.list_of(kind, rng, version), rng, honesty)
    elif "/namespaces/" in asked.path or kind is not None:
        body = _encoded(documents.object_of(WORKLOADS, rng, version), rng, honesty)
    else:
        body = _encoded(documents.document_of(asked.path, rng), rng, honesty)
    if rng.random() < 0.05:
        body = _encoded(documents.status_of(rng), rng, honesty)
    if honesty < 0.7:
        raw, is_whole = _framed("HTTP/1.1 200 OK", ["Content-Type: application/json"], body, rng)
        return Reply(raw, _ending(rng, is_watch, is_whole=is_whole))
    head = [f"Content-Type: {rng.choice(_MEDIA_TYPES)}", *rng.choices(_HEADERS, k=rng.choice((0, 0, 1, 1, 2, 5)))]
    rng.shuffle(head)
    raw, _ = _framed(rng.choice(_STATUS_LINES), head, body, rng)
    if rng.random() < 0.1:
        raw = _damaged(raw, rng)
    return Reply(raw, _ending(rng, is_watch, is_whole=False))


def _encoded(document: object, rng: Random, honesty: float) -> bytes:
    """Return the document as JSON: as it is, tampered with, or damaged."""
    if honesty < 0.35 or rng.random() < 0.1:
        return orjson.dumps(document)
    body = b""
    for _ in range(rng.choice((1, 1, 2, 5))):
        if isinstance(document, dict | list) and len(body) < _LARGE:
            document = documents.tampered(document, rng)
            body = orjson.dumps(document)
    return _damaged(body, rng) if rng.random() < 0.15 else body


def _damaged(body: bytes, rng: Random) -> bytes:
    place = rng.randrange(len(body) + 1)
    match rng.randrange(4):
        case 0:
            return body[:place]
        case 1:
            return body[:place] + rng.choice(_DAMAGE) + body[place:]
        case 2:
            return body[:place] + rng.choice(_DAMAGE)
        case _:
            return body[:place] + bytes([rng.randrange(256)]) + body[place + 1 :]


def _framed(status: str, headers: list[str], body: bytes, rng: Random) -> tuple[bytes, bool]:
    """Return the answer, and whether its end can be told without the end of the connection."""
    head = "\r\n".join([status, *headers]).encode("latin-1", "replace")
    match rng.randrange(10):
        case 0 | 1 | 2:
            return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + _chunked(body, rng) + b"0\r\n\r\n", True
        case 3:
            return head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + _damaged(_chunked(body, rng), rng), False
        case 4:
            return head + b"\r\n\r\n" + body, False
        case 5:
            length = max(0, len(body) + rng.choice((-1, 1, 5, 10**6)))
            return head + f"\r\nContent-Length: {length}\r\n\r\n".encode() + body, False
        case _:
            return head + f"\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body, True


def _chunked(body: bytes, rng: Random) -> bytes:
    parts, place = [], 0
    while place < len(body):
        part = body[place : place + rng.choice((1, 7, 100, 10_000))]
        parts.append(b"%x\r\n%s\r\n" % (len(part), part))
        place += len(part)
    return b"".join(parts)


def _ending(rng: Random, is_watch: bool, *, is_whole: bool) -> Ending:
    draw = rng.random()
    if draw < 0.002 or (is_watch and draw < 0.02):
        return Ending.HOLD
    if draw < 0.1:
        return Ending.ABORT
    return Ending.KEEP if is_whole and not is_watch and draw < 0.8 else Ending.CLOSE
