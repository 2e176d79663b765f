"""Which releases of Kueue the tests run with, as a table in docs/compatibility.md.

`python -m tests.support.compatibility docs/compatibility.md` writes it again.
"""

import sys
from pathlib import Path
from typing import Final

from tests.differential.oracle import OTHER_VERSIONS
from tests.e2e.fleets import FLEETS
from tests.realbed.build import KUEUE_VERSION

BEGIN: Final = "<!-- releases -->\n"
END: Final = "<!-- end of releases -->\n"
_CLUSTERS: Final = ("hub", "worker-1", "worker-2")
_HEADER: Final = ("Kueue", "nominations, cycles and feature gates", *(f"fleet `{fleet}`" for fleet in FLEETS))


def table() -> str:
    """Return a row for each release: when it is compared with the engine, and which clusters of a fleet run it."""
    releases = sorted({KUEUE_VERSION, *OTHER_VERSIONS}, key=lambda text: [int(part) for part in text[1:].split(".")])
    rows = [(each, _compared(each), *(_places(each, fleet) for fleet in FLEETS)) for each in releases]
    lines = [_HEADER, ("---",) * len(_HEADER), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |").replace("|  |", "| |") for line in lines)


def written(page: str) -> str:
    """Return a page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _compared(release: str) -> str:
    return "every run" if release == KUEUE_VERSION else "in turn by day"


def _places(release: str, fleet: str) -> str:
    return ", ".join(name for name in _CLUSTERS if FLEETS[fleet].get(name, KUEUE_VERSION) == release)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(written(page.read_text()))
