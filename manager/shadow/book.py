"""What was seen in shadow mode: the last episodes, each in its latest state, and what they add up to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType
from typing import Final

from gates.hindsight import Episode, Tally, tally
from manager.journal import EPISODE
from manager.journal_file import read_entries

_KEPT: Final = 10_000

_Key = tuple[str, str, int]


class Book:
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

    def tally(self) -> Tally:
        """Count all that is kept."""
        return tally(self._episodes.values())


def recorded_episodes(path: Path) -> Iterator[Episode]:
    """Read the episodes of a journal, oldest state first; raises `JournalError`."""
    return (entry.body for entry in read_entries(path, EPISODE, Episode, NoneType))
