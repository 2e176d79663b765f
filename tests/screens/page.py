"""Where a page shows a screen: `<!-- screen: NAME -->` and a fenced block under it."""

import re
from collections.abc import Mapping

_SHOWN = re.compile(
    r"(?P<mark><!-- screen: (?P<name>[-a-z0-9]+) -->\n```console\n)(?P<screen>.*?)(?P<end>```\n)", re.DOTALL
)


def screens_in(text: str) -> dict[str, str]:
    """Return the screens that a page shows."""
    return {found["name"]: found["screen"] for found in _SHOWN.finditer(text)}


def with_screens(text: str, screens: Mapping[str, str]) -> str:
    """Return the page with these screens in place of those that it shows under the same names."""

    def replaced(found: re.Match[str]) -> str:
        return found["mark"] + screens.get(found["name"], found["screen"]) + found["end"]

    return _SHOWN.sub(replaced, text)
