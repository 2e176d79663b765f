"""The table of all metrics, for the docs: `python -m manager.telemetry.reference docs/metrics.md`."""

import sys
from pathlib import Path
from typing import Final

from manager.cost.metrics import COST_CATALOGUE
from manager.telemetry.catalogue import CATALOGUE
from manager.telemetry.families import Family

TABLE_BEGIN: Final = "<!-- metrics-table:begin -->"
TABLE_END: Final = "<!-- metrics-table:end -->"


def markdown_table() -> str:
    """Return every metric as a markdown table."""
    rows = ["| Metric | Type | Labels | Meaning |", "|---|---|---|---|"]
    return "\n".join([*rows, *(_row(family) for family in (*CATALOGUE, *COST_CATALOGUE))])


def with_table(markdown: str) -> str:
    """Return a document with the table between its markers renewed; a ValueError says that the markers are missing."""
    before, begin, rest = markdown.partition(TABLE_BEGIN)
    _, end, after = rest.partition(TABLE_END)
    if not (begin and end):
        raise ValueError(f"the document lacks the markers {TABLE_BEGIN} and {TABLE_END}")
    return f"{before}{TABLE_BEGIN}\n{markdown_table()}\n{TABLE_END}{after}"


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.meaning} |"


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]):
        document.write_text(with_table(document.read_text()))
