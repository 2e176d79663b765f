"""Manifests from files, directories and standard input, as kubectl writes and reads them.

YAML with several documents, JSON, and lists are all flattened into single objects; each remembers where it came from,
so that an error can say so.
"""

import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from config.reading.files import UnreadableFileError, read_bounded, unreadable
from manager.cli.reading.documents import UnusableDocumentError, load_documents

STDIN: Final = "-"
_CONFIGURATION_GROUP: Final = "config.kueue.x-k8s.io/"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MAX_SIZE: Final = 256 << 20
"""Enough for the dump of a large cluster; a wrong path, such as that of a device, does not exhaust memory."""


class ManifestError(ValueError):
    """A file or an object in it that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and the file it comes from."""

    raw: Mapping[str, Any]
    source: str

    @property
    def is_configuration(self) -> bool:
        """Return whether this is Kueue's Configuration: a file, not an object, and so without a name."""
        api_version = self.raw.get("apiVersion")
        is_config = isinstance(api_version, str) and api_version.startswith(_CONFIGURATION_GROUP)
        return is_config and self.raw.get("kind") == "Configuration"


def read_manifests(names: Sequence[str]) -> list[Manifest]:
    """Read every object in the named files, directories and standard input, whatever it is."""
    return [manifest for name in names for manifest in _load(name)]


def _load(name: str) -> Iterator[Manifest]:
    if name == STDIN:
        yield from _objects(_standard_input(), "standard input")
        return
    for file in _files(Path(name)):
        try:
            content = read_bounded(file, _MAX_SIZE)
        except UnreadableFileError as error:
            raise ManifestError(f"{file}: {error}") from None
        yield from _objects(content, str(file))


def _standard_input() -> bytes:
    try:
        content = sys.stdin.buffer.read(_MAX_SIZE + 1)
    except OSError as error:
        raise ManifestError(f"standard input: cannot be read: {error.strerror}; give a file with -f") from None
    if len(content) > _MAX_SIZE:
        raise ManifestError(f"standard input: is larger than {_MAX_SIZE >> 20} MiB, which is the limit")
    return content


def _files(path: Path) -> list[Path]:
    """Return a file as it is named, and of a directory the files with manifests; reading says what is wrong."""
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return [path]
        files = sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES and entry.is_file())
    except OSError as error:
        raise ManifestError(f"{path}: {unreadable(error)}") from None
    if not files:
        raise ManifestError(f"{path}: no file has one of the suffixes {', '.join(sorted(_SUFFIXES))}")
    return files


def _objects(content: bytes, source: str) -> Iterator[Manifest]:
    try:
        documents = load_documents(content)
    except UnusableDocumentError as error:
        raise ManifestError(f"{source}: {error}") from None
    for document in documents:
        if document is not None:
            yield from _flatten(document, source)


def _flatten(document: Any, source: str) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise ManifestError(f"{source}: a document is not an object but a {type(document).__name__}")
    kind, items = document.get("kind"), document.get("items")
    if not isinstance(kind, str) or not kind:
        raise ManifestError(f"{source}: an object has no kind")
    if kind.endswith("List") and isinstance(items, list):
        for item in items:
            # Items of a typed list may leave out what the list already says.
            if isinstance(item, dict) and kind != "List":
                item = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}  # noqa: PLW2901
            yield from _flatten(item, source)
        return
    yield Manifest(document, source)
