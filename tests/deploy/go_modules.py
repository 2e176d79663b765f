"""Go modules of the tests that are not the real bed's: a tool to run, files to read."""

from pathlib import Path

from tests.realbed import binary_cache
from tests.realbed.build import run_go


def tool(module: Path, name: str, tags: str = "") -> Path:
    """Return the path of the one tool that the module names, built with these tags.

    `go tool` builds and keeps tools itself, but takes no notice of tags.
    """
    decisive = [
        (module / "go.mod").read_bytes(),
        (module / "go.sum").read_bytes(),
        tags.encode(),
        run_go(module, "env", "GOVERSION").encode(),
        binary_cache.this_machine(),
    ]

    def build(_scratch: Path, built: Path) -> None:
        flags = (*binary_cache.WITHOUT_DEBUG_INFORMATION, f"-tags={tags}", "-ldflags=-s -w")
        run_go(module, "build", *flags, "-o", str(built), "tool")

    return binary_cache.ensure(binary_cache.place_of(name, decisive), build)


def source(module: Path, required: str) -> Path:
    """Return the directory with the files of a module that this one requires."""
    run_go(module, "mod", "download", required)
    return Path(run_go(module, "list", "-m", "-f", "{{.Dir}}", required))
