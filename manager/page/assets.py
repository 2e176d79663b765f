"""The files of the page: read once, served under a name that changes with them, so that browsers may keep them.

They hold no data: whatever the page shows, it asks for under `/v1/`, with a token. Nothing is loaded from elsewhere, no
script is inline, and no text becomes markup (Trusted Types without any policy).
"""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from aiohttp import web

STATIC: Final = Path(__file__).parent / "static"
INDEX: Final = "index.html"
_DIGEST_MARK: Final = b"{digest}"
_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
CONTENT_SECURITY_POLICY: Final = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file, as it is and compressed."""

    content_type: str
    body: bytes
    compressed: bytes


@dataclass(frozen=True, slots=True)
class PageAssets:
    """All files, and the digest under which they are served."""

    digest: str
    files: dict[str, PageFile]


@cache
def page_assets() -> PageAssets:
    """Read the files that are installed with the program."""
    found = {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in sorted(STATIC.rglob("*.*"))}
    digest = sha256(b"".join(name.encode() + b"\0" + body for name, body in found.items())).hexdigest()[:16]
    found[INDEX] = found[INDEX].replace(_DIGEST_MARK, digest.encode())
    return PageAssets(
        digest,
        {
            name: PageFile(_TYPES[Path(name).suffix], body, gzip.compress(body, mtime=0))
            for name, body in found.items()
            if Path(name).suffix in _TYPES
        },
    )


def page_routes() -> list[web.RouteDef]:
    """Return what serves the page under `/ui/`, to every client."""
    assets = page_assets()

    async def to_page(_request: web.Request) -> web.Response:
        return web.Response(status=308, headers={"Location": "ui/", **HEADERS})

    async def index(request: web.Request) -> web.Response:
        return _answer(request, assets.files[INDEX], "no-cache")

    async def asset(request: web.Request) -> web.Response:
        found = assets.files.get(request.match_info["file"])
        if found is None or request.match_info["digest"] != assets.digest:
            return web.json_response({"error": "there is no such file"}, status=404, headers=HEADERS)
        return _answer(request, found, "public, max-age=31536000, immutable")

    return [
        web.get("/ui", to_page, allow_head=False),
        web.get("/ui/", index, allow_head=False),
        web.get("/ui/{digest}/{file:.+}", asset, allow_head=False),
    ]


def _answer(request: web.Request, found: PageFile, caching: str) -> web.Response:
    headers = {**HEADERS, "Cache-Control": caching, "Vary": "Accept-Encoding"}
    body = found.body
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "gzip"
        body = found.compressed
    return web.Response(body=body, headers=headers, content_type=found.content_type, charset="utf-8")
