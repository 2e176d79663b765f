"""All scenes. A scene is a coroutine that plays a story in a directory of its own and returns screens by name."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.screens.planning import examining, planning, planning_pods
from tests.screens.top import watching
from tests.screens.topologies import topologies
from tests.screens.training import training

Scene = Callable[[Path], Awaitable[dict[str, str]]]

SCENES: tuple[Scene, ...] = (training, planning, planning_pods, topologies, examining)
_ROOT = Path(__file__).resolve().parents[2]
PAGE = _ROOT / "docs" / "cli.md"
"""The page that shows every screen."""
PICTURES: tuple[Scene, ...] = (watching,)
"""The scenes whose screens are pictures, by file name."""
IMAGES = _ROOT / "docs" / "images"
PAGES = (PAGE, _ROOT / "README.md")
"""All pages that show screens."""
