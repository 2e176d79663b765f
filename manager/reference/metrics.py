"""The table of all metrics, for the docs: `python -m manager.reference.metrics docs/metrics.md`."""

import sys
from pathlib import Path
from typing import Final

from manager.cost.metrics import COST_CATALOGUE
from manager.metrics.catalogue import CATALOGUE
from manager.metrics.families import Family
from manager.reference.blocks import with_block
from manager.shadow.metrics import SHADOW_CATALOGUE

TABLE_BEGIN: Final = "<!-- metrics-table:begin -->"
TABLE_END: Final = "<!-- metrics-table:end -->"

EVERY_FAMILY: Final = (*CATALOGUE, *COST_CATALOGUE, *SHADOW_CATALOGUE)


def markdown_table() -> str:
    """Return every metric as a markdown table."""
    rows = ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|"]
    return "\n".join([*rows, *(_row(family) for family in EVERY_FAMILY)])


def with_table(markdown: str) -> str:
    """Return a document with the table between its markers replaced; raise ValueError if a marker is missing."""
    return with_block(markdown, TABLE_BEGIN, TABLE_END, markdown_table())


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.meaning} |"


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]):
        document.write_text(with_table(document.read_text()))
