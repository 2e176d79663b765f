"""Label selectors as text, in the form that `kubectl -l` takes: `tier=gold,gpu in (a100,h100),!spot`."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from config.api.selectors import SelectorError, check_selector

_TERM: Final = re.compile(
    r"""\s*(?:
        !\s*(?P<absent>[^\s,()=!]+)
      | (?P<key>[^\s,()=!]+)
        (?: \s*(?P<sign>==|=|!=)\s*(?P<value>[^\s,()=!]*)
          | \s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\)
        )?
    )\s*""",
    re.VERBOSE,
)
_LONGEST: Final = 4096


@lru_cache(maxsize=1024)
def parse_selector(text: str) -> dict[str, Any]:
    """Return the LabelSelector that a text stands for; raises `SelectorError` for one that stands for none."""
    if not text.strip():
        raise SelectorError("the selector is empty: must be terms like tier=gold, gpu in (a100,h100) or !spot")
    if len(text) > _LONGEST:
        raise SelectorError(f"the selector has {len(text)} characters: must have at most {_LONGEST}")
    selector = {"matchExpressions": list(_terms(text))}
    check_selector(selector)
    return selector


def _terms(text: str) -> Iterator[dict[str, Any]]:
    position = 0
    while True:
        found = _TERM.match(text, position)
        if found is None or (found.end() < len(text) and text[found.end()] != ","):
            rest = text[position : position + 64].strip()
            raise SelectorError(f'"{rest}" is not a term of a selector: must be like tier=gold, gpu in (a,b) or !spot')
        yield _expression(found)
        if found.end() == len(text):
            return
        position = found.end() + 1


def _expression(found: re.Match[str]) -> dict[str, Any]:
    if found["absent"]:
        return {"key": found["absent"], "operator": "DoesNotExist"}
    if found["sign"]:
        return {"key": found["key"], "operator": "NotIn" if found["sign"] == "!=" else "In", "values": [found["value"]]}
    if found["set"]:
        values = [value.strip() for value in found["values"].split(",")]
        return {"key": found["key"], "operator": "In" if found["set"] == "in" else "NotIn", "values": values}
    return {"key": found["key"], "operator": "Exists"}
