"""Plays all scenes and writes their screens into the pages; what `make docs` runs."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.screens.page import with_screens
from tests.screens.scenes import PAGES, SCENES


async def main() -> None:
    """Play and write."""
    screens: dict[str, str] = {}
    for scene in SCENES:
        with TemporaryDirectory() as directory:
            screens |= await scene(Path(directory))
    for page in PAGES:
        page.write_text(with_screens(page.read_text(), screens))


if __name__ == "__main__":
    asyncio.run(main())
