"""The screens in docs/cli.md and the README are what the commands print."""

from pathlib import Path

import pytest

from tests.screens.page import screens_in, with_screens
from tests.screens.scenes import IMAGES, PAGE, PAGES, PICTURES, SCENES, Scene


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_the_page_shows_what_the_commands_print(tmp_path: Path, scene: Scene) -> None:
    shown = screens_in(PAGE.read_text())
    for name, screen in (await scene(tmp_path)).items():
        assert shown.get(name) == screen, f"{name}: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_screen_of_a_page_is_one_of_the_commands(page: Path) -> None:
    shown = screens_in(page.read_text())
    assert shown
    assert shown.items() <= screens_in(PAGE.read_text()).items(), "run `make docs`"
    assert all(screen.startswith("$ turnstile ") for screen in shown.values())


@pytest.mark.parametrize("scene", PICTURES, ids=lambda scene: scene.__name__)
async def test_the_page_shows_pictures_of_what_a_user_sees(tmp_path: Path, scene: Scene) -> None:
    page = PAGE.read_text()
    for name, picture in (await scene(tmp_path)).items():
        assert (IMAGES / name).read_text() == picture, f"{name}: run `make docs`"
        assert f"](images/{name})" in page


def test_a_screen_is_replaced_by_its_name_alone() -> None:
    page = "a\n<!-- screen: one -->\n```console\nold\n```\nb\n<!-- screen: two -->\n```console\nkept\n```\n"
    assert with_screens(page, {"one": "$ new\n"}) == page.replace("old", "$ new")
    assert screens_in(page) == {"one": "old\n", "two": "kept\n"}
