"""Refuses documents that would exhaust stack or memory: too deep, or by YAML's aliases far larger than they look.

The fast loader of YAML recurses without a limit, so that a deep document would end the process; this looks at the
events first.
"""

from typing import Any, Final

import yaml

MAX_DEPTH: Final = 200
MAX_VALUES: Final = 20_000_000
_TOO_DEEP: Final = f"it is nested more than {MAX_DEPTH} deep"


class UnboundedDocumentError(ValueError):
    """Why a document is not loaded."""


def check_depth(document: Any) -> None:
    """Check the depth of a loaded document; raises `UnboundedDocumentError`."""
    level = [document]
    for _ in range(MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [each for values in inner for each in values]
    if level:
        raise UnboundedDocumentError(_TOO_DEEP)


def check_yaml(content: bytes, loader: Any) -> None:
    """Walk over documents without making anything of them; raises `UnboundedDocumentError` or `yaml.YAMLError`."""
    anchored: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    """The anchor of each collection around, and how many values came before it."""
    total = 0
    for event in yaml.parse(content, Loader=loader):
        match event:
            case yaml.CollectionStartEvent():
                open_nodes.append((event.anchor, total))
                total += 1
                if len(open_nodes) > MAX_DEPTH:
                    raise UnboundedDocumentError(_TOO_DEEP)
            case yaml.CollectionEndEvent():
                anchor, before = open_nodes.pop()
                if anchor is not None:
                    anchored[anchor] = total - before
            case yaml.ScalarEvent():
                total += 1
                if event.anchor is not None:
                    anchored[event.anchor] = 1
            case yaml.AliasEvent():
                if event.anchor not in anchored:
                    raise UnboundedDocumentError(f"the alias {event.anchor!r} refers to nothing or to itself")
                total += anchored[event.anchor]
            case yaml.DocumentStartEvent():
                anchored.clear()
        if total > MAX_VALUES:
            raise UnboundedDocumentError(f"it holds more than {MAX_VALUES} values")
