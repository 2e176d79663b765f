"""Parses kubeconfigs once per content: parsing is expensive, and they are read again every few seconds."""

from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Final

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import parse_kubeconfig
from config.sections.sections import KubeconfigPolicy

_REMEMBERED: Final = 4096

_Question = tuple[bytes, KubeconfigPolicy, Path | None]


class KubeconfigParser:
    """Remembers what each kubeconfig grants, or why it was refused. To be used from any thread.

    Content is compared by its digest, not by the time of a file or the version of a Secret: no change is missed, not
    even one that keeps both, and what cannot be parsed is not parsed again either.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str | None], tuple[_Question, ClusterAccess | KubeconfigError]] = {}
        self._lock = Lock()
        self._turn = Lock()
        """One parses at a time: threads that all compute would keep the loop waiting for its share."""
        self.parsed = 0
        """How often something was parsed."""

    def parse(
        self,
        place: str,
        raw: bytes,
        policy: KubeconfigPolicy,
        context: str | None = None,
        directory: Path | None = None,
    ) -> ClusterAccess:
        """Return what the kubeconfig at a place grants, files that it names not read yet; raises `KubeconfigError`."""
        question = (sha256(raw).digest(), policy, directory)
        asked, found = self._known.get((place, context), (None, None))
        if found is None or asked != question:
            with self._turn:
                found = _parsed(raw, policy, context, directory)
            self._remember((place, context), question, found)
        if isinstance(found, KubeconfigError):
            raise KubeconfigError(found.reason, found.problems)
        return found

    def _remember(
        self, place: tuple[str, str | None], question: _Question, found: ClusterAccess | KubeconfigError
    ) -> None:
        with self._lock:
            self.parsed += 1
            self._known.pop(place, None)
            self._known[place] = (question, found)
            if len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]


def _parsed(
    raw: bytes, policy: KubeconfigPolicy, context: str | None, directory: Path | None
) -> ClusterAccess | KubeconfigError:
    try:
        return parse_kubeconfig(raw, policy, context, directory)
    except KubeconfigError as error:
        return error
