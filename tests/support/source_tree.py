"""The sources of the shipped packages, for tests of the architecture."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("manager", "workerclient", "gates", "engine", "config", "localcluster")
