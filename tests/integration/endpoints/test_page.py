"""The page on the daemon's own port: its files are open, its data are not, and it can be switched off."""

from pathlib import Path
from typing import Any

import pytest

from manager.page.assets import page_assets
from tests.integration.endpoints.house import OPERATOR, STRANGER, house


async def test_files_are_open_and_data_need_a_token(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        status, page = await home.get("/ui/")
        assert (status, "<title>Turnstile</title>" in page) == (200, True)
        assert (await home.get(f"/ui/{page_assets().digest}/app.js"))[0] == 200
        assert (await home.get("/v1/workers"))[0] == 401
        assert (await home.get("/v1/workers", STRANGER.token))[0] == 403
        assert (await home.get("/v1/workers", OPERATOR.token))[0] == 200


@pytest.mark.parametrize(
    "options", [{"page": False}, {"authorization": "None", "certificate_file": None, "key_file": None}]
)
async def test_it_is_not_served_where_it_is_off_or_nobody_is_authorized(
    options: dict[str, Any], tmp_path: Path
) -> None:
    async with house(tmp_path, **options) as home:
        assert (await home.get("/ui/"))[0] == 404
        assert await home.get("/healthz") == (200, "ok\n")
