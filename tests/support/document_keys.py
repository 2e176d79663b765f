"""Finds keys of a JSON document that are not camelCase; keys that are data, such as names of objects, are skipped."""

import re
from collections.abc import Iterator
from typing import Any, Final

_CAMEL_CASE: Final = re.compile(r"[a-z][a-zA-Z0-9]*")
_KEYED_BY_DATA: Final = frozenset(
    {
        *("flavors", "otherFlavors", "usage", "modes", "borrowLevels", "reducedCounts", "safe"),  # resources, pod sets
        *("heap", "parked", "reserving", "nominated", "bound", "placement"),  # queues, pods
        *("workloads", "gates", "forecasts"),  # words that are counted
    }
)
"""The fields whose keys are names and words, where their value is a mapping."""


def misspelt_keys(document: Any, path: str = "") -> Iterator[str]:
    """Yield the path of every key that is not camelCase."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            yield from misspelt_keys(item, f"{path}[{index}]")
    if isinstance(document, dict):
        is_ours = path.rpartition(".")[2].partition("[")[0] not in _KEYED_BY_DATA
        for key, value in document.items():
            if is_ours and not _CAMEL_CASE.fullmatch(key):
                yield f"{path}.{key}"
            yield from misspelt_keys(value, f"{path}.{key}")
