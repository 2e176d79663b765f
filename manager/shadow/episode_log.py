"""What was seen in shadow mode: the last episodes, each in its latest state, and what they add up to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType
from typing import Final

from gates.shadow.hindsight import Episode, EpisodeTally, tally
from manager.journal.reader import read_entries
from manager.journal.schema import JournalError
from manager.journal.writer import EPISODE

_KEPT: Final = 10_000
_MAX_BYTES: Final = 128 << 20
"""How much text the episodes that are kept may have been; far more than so many of them have."""

_Key = tuple[str, str, int]


class EpisodeLog:
    """Episodes in the order in which they began; the oldest are dropped."""

    def __init__(self, episodes: Iterable[Episode] = (), kept: int = _KEPT) -> None:
        self._kept = kept
        self._episodes: dict[_Key, Episode] = {}
        for episode in episodes:
            self.put(episode)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self._episodes.values())

    def put(self, episode: Episode) -> None:
        """Take the latest state of an episode."""
        self._episodes[episode.key] = episode
        while len(self._episodes) > self._kept:
            del self._episodes[next(iter(self._episodes))]

    def find(self, key: _Key) -> Episode | None:
        """Return an episode that is known already."""
        return self._episodes.get(key)

    def tally(self) -> EpisodeTally:
        """Count all that is kept."""
        return tally(self._episodes.values())


def recorded_episodes(path: Path) -> Iterator[Episode]:
    """Read the episodes of a journal, oldest state first; raises `JournalError`, also for more than fits in memory."""
    sizes: dict[_Key, int] = {}
    total = 0
    for entry in read_entries(path, EPISODE, Episode, NoneType):
        episode: Episode = entry.body
        total += entry.size - sizes.get(episode.key, 0)
        sizes[episode.key] = entry.size
        if len(sizes) > _KEPT:
            total -= sizes.pop(next(iter(sizes)))
        if total > _MAX_BYTES:
            raise JournalError(f"{path}: the journal holds more than {_MAX_BYTES >> 20} MiB of attempts, all different")
        yield episode
