"""A version of Kueue, and values that change from version to version."""

import re
from dataclasses import dataclass
from typing import Final, Self

_VERSION: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?([-+][0-9A-Za-z.+-]{1,100})?", re.ASCII)
_NEWEST_PATCH: Final = 9999
_SHOWN: Final = 60


class KueueVersionError(ValueError):
    """A text that is not a version of Kueue."""


@dataclass(frozen=True, slots=True)
class KueueVersion:
    """A version; without a patch it stands for the newest patch of its minor version."""

    major: int
    minor: int
    patch: int | None = None
    suffix: str = ""
    """What follows the numbers of a build that is not a release, such as `-rc.1`."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `v0.19.2`, `0.19.2`, `v0.19` or `v0.20.0-rc.1`; raises `KueueVersionError`."""
        found = _VERSION.fullmatch(text.strip())
        if found is None:
            raise KueueVersionError(f"Kueue version {text[:_SHOWN]!r} is not allowed: must be like v0.19.2 or v0.19")
        major, minor, patch, suffix = found.groups()
        return cls(int(major), int(minor), None if patch is None else int(patch), suffix or "")

    @property
    def order(self) -> tuple[int, int, int]:
        """Return what versions are compared by; a build that is not a release counts as the release."""
        return self.major, self.minor, _NEWEST_PATCH if self.patch is None else self.patch

    def __str__(self) -> str:
        """Return the version as Kueue's tags spell it."""
        patch = "" if self.patch is None else f".{self.patch}"
        return f"v{self.major}.{self.minor}{patch}{self.suffix}"


def value_at(history: str, version: KueueVersion) -> str | None:
    """Return the value that a version has, None before the first.

    A history is written `0.18.5:on 0.19.0:off 0.19.1:on`: each value holds from that version on until the next one, in
    the order of versions. A fix that was taken back to an older line therefore shows up twice.
    """
    value = None
    for change in history.split():
        since, _, changed = change.partition(":")
        if tuple(map(int, since.split("."))) <= version.order:
            value = changed
    return value
