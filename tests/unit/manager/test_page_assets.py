"""The files of the page: nothing from elsewhere, nothing that makes markup of a text, small, and all of them served."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from manager.page.assets import STATIC, page_assets, page_routes

SCRIPTS = sorted(STATIC.glob("**/*.js"))
FORBIDDEN = {
    "innerHTML": "a text would become markup",
    "outerHTML": "a text would become markup",
    "insertAdjacentHTML": "a text would become markup",
    "document.write": "a text would become markup",
    "eval(": "a text would become code",
    "Function(": "a text would become code",
    "style=": "the policy blocks it",
    "://": "nothing comes from elsewhere",
    "document.cookie": "the page keeps no cookie",
    ".parseFromString": "a text would become markup",
}
FIRST_VISIT = (
    "index.html",
    "page.css",
    "icon.svg",
    "app.js",
    "render.js",
    "text.js",
    "store.js",
    "wire.js",
    "parts.js",
    "panels.js",
    "fleet.js",
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_uses_what_makes_a_text_dangerous(script: Path) -> None:
    content = script.read_text()
    assert [f"{word}: {why}" for word, why in FORBIDDEN.items() if word in content] == []


def test_every_file_that_is_imported_is_there() -> None:
    for script in SCRIPTS:
        for name in re.findall(r"""(?:from|import\()\s*"\./([\w.-]+)\"""", script.read_text()):
            assert (STATIC / name).is_file(), f"{script.name} imports {name}"


def test_the_first_visit_is_small() -> None:
    assert sum(len(page_assets().files[name].compressed) for name in FIRST_VISIT) <= 60_000
    assert len(FIRST_VISIT) + 1 <= 12  # and the stream


def test_a_script_has_at_most_350_lines() -> None:
    assert {
        path.name: len(path.read_text().splitlines()) for path in SCRIPTS if len(path.read_text().splitlines()) > 350
    } == {}


@pytest.fixture
async def address() -> AsyncIterator[str]:
    application = web.Application()
    application.add_routes(page_routes())
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_files_are_kept_by_browsers_and_the_page_itself_is_not(address: str) -> None:
    digest = page_assets().digest
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        async with session.get(f"{address}/ui/") as page:
            body = gzip.decompress(await page.read()).decode()
            assert (page.status, page.headers["Cache-Control"]) == (200, "no-cache")
            assert f"{digest}/app.js" in body
            assert "{digest}" not in body
        async with session.get(f"{address}/ui/{digest}/app.js") as script:
            assert script.content_type == "text/javascript"
            assert "immutable" in script.headers["Cache-Control"]
            assert gzip.decompress(await script.read()) == (STATIC / "app.js").read_bytes()
        async with session.get(f"{address}/ui/{digest}/app.js", headers={"Accept-Encoding": "identity"}) as plain:
            assert await plain.read() == (STATIC / "app.js").read_bytes()


async def test_every_answer_has_the_strict_policy(address: str) -> None:
    digest = page_assets().digest
    async with aiohttp.ClientSession() as session:
        for path in ("/ui/", f"/ui/{digest}/page.css", f"/ui/{digest}/nothing.js", "/ui/0000/app.js"):
            async with session.get(f"{address}{path}") as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "require-trusted-types-for 'script'; trusted-types 'none'" in policy
                assert "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
                assert not [name for name in answer.headers if name.startswith("Access-Control")]
                assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/ui/DIGEST/../assets.py", "/ui/DIGEST/%2e%2e/assets.py", "/ui/DIGEST/nothing.js"])
async def test_nothing_else_is_served(address: str, path: str) -> None:
    url = f"{address}{path.replace('DIGEST', page_assets().digest)}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 404
