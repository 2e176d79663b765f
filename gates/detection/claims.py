"""What names the version of a Kueue."""

from dataclasses import dataclass
from enum import StrEnum

from engine.versions.version import KueueVersion, KueueVersionError


class VersionSource(StrEnum):
    """What tells the version, the most reliable first."""

    CONFIGURED = "configured"
    IMAGE = "image"
    LABELS = "labels"
    SCHEMA = "schema"


@dataclass(frozen=True, slots=True)
class VersionClaim:
    """What one source says."""

    source: VersionSource
    text: str

    @property
    def version(self) -> KueueVersion | None:
        """Return the version that it names, None if Kueue cannot have such a one."""
        try:
            found = KueueVersion.parse(self.text)
        except KueueVersionError:
            return None
        return found if found.major == 0 and found.minor > 0 else None
