"""Go modules of the tests that are not the real bed's: a tool to run, files to read."""

from pathlib import Path

from tests.realbed import binary_cache
from tests.realbed.build import build_program, place_of, run_go


def tool(module: Path, name: str, tags: str = "") -> Path:
    """Return the path of the one tool that the module names, built with these tags.

    `go tool` builds and keeps tools itself, but takes no notice of tags.
    """

    def build(_: Path, built: Path) -> None:
        build_program(module, "tool", built, f"-tags={tags}")

    return binary_cache.ensure(place_of(name, module / "go.mod", tags), build)


def source(module: Path, required: str) -> Path:
    """Return the directory with the files of a module that this one requires."""
    run_go(module, "mod", "download", required)
    return Path(run_go(module, "list", "-m", "-f", "{{.Dir}}", required))
