"""The last line of defence of the log: what looks like a secret is hidden, what could move a cursor is made visible.

No secret is passed to the log on purpose; this also covers mistakes.
"""

import re
from typing import Any, Final

from config.types.syntax import printable

HIDDEN: Final = "(hidden)"

_LONGEST: Final = 16 << 10
"""Longer strings are cut, so that no name or message of a worker fills the log."""
_SECRETS: Final = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w\-.~+/=]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"\beyJ[\w\-]+\.[\w\-]+(\.[\w\-]*)?"), HIDDEN),
    (re.compile(r"//[^/@\s]+@"), f"//{HIDDEN}@"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    (
        re.compile(r"(?i)([\"']?(?:token|password|client-key-data|client-certificate-data)[\"']?\s*[:=]\s*)[^\s,}]+"),
        rf"\1{HIDDEN}",
    ),
)


def redacted(value: Any) -> Any:
    """Return a value of a log line without what looks like a secret; strings in lists and mappings too."""
    match value:
        case str():
            return _redacted_text(value)
        case dict():
            return {redacted(key): redacted(each) for key, each in value.items()}
        case list() | tuple():
            return [redacted(each) for each in value]
        case _:
            return value


def visible(value: Any) -> Any:
    """Return a document in which nothing can move a terminal's cursor or reorder its line."""
    match value:
        case str():
            if value.isprintable():  # what nearly all strings are
                return value
            return "\n".join(printable(line) for line in value.split("\n"))
        case dict():
            return {visible(key): visible(each) for key, each in value.items()}
        case list() | tuple():
            return [visible(each) for each in value]
        case _:
            return value


def _redacted_text(text: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… ({len(text)} characters)"
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return str(visible(text))
