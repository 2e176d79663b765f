"""Plays all scenes and writes their screens into the pages; what `make docs` runs."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.screens import demo_frames
from tests.screens.page import with_screens
from tests.screens.scenes import IMAGES, PAGES, PICTURES, SCENES, Scene


async def main() -> None:
    """Play and write."""
    screens = await _played(SCENES)
    for page in PAGES:
        page.write_text(with_screens(page.read_text(), screens))
    for path, moment in demo_frames.PICTURES.items():
        path.write_text(demo_frames.svg(*moment))
    IMAGES.mkdir(exist_ok=True)
    for name, picture in (await _played(PICTURES)).items():
        (IMAGES / name).write_text(picture)


async def _played(scenes: tuple[Scene, ...]) -> dict[str, str]:
    screens: dict[str, str] = {}
    for scene in scenes:
        with TemporaryDirectory() as directory:
            screens |= await scene(Path(directory))
    return screens


if __name__ == "__main__":
    asyncio.run(main())
