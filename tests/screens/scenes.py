"""All scenes. A scene is a coroutine that plays a story in a directory of its own and returns screens by name."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.screens.planning import examining, planning, planning_pods
from tests.screens.training import training

Scene = Callable[[Path], Awaitable[dict[str, str]]]

SCENES: tuple[Scene, ...] = (training, planning, planning_pods, examining)
PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
