"""Manifests from files, directories and standard input, as kubectl writes and reads them.

YAML with several documents, JSON, and lists are all flattened into single objects; each remembers where it came from,
so that an error can say so.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from engine.errors import InvalidObjectError
from engine.objects.convert import to_v1beta2
from engine.objects.validate_objects import check_object

STDIN: Final = "-"
_CONFIGURATION_GROUP: Final = "config.kueue.x-k8s.io/"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class ManifestError(ValueError):
    """A file or an object in it that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object and the file it stands in."""

    raw: Mapping[str, Any]
    source: str

    @property
    def is_configuration(self) -> bool:
        """Tell whether this is Kueue's Configuration: a file, not an object, and so without a name."""
        api_version = self.raw.get("apiVersion")
        is_config = isinstance(api_version, str) and api_version.startswith(_CONFIGURATION_GROUP)
        return is_config and self.raw.get("kind") == "Configuration"


class _KubernetesLoader(yaml.CSafeLoader):
    """Leaves times alone: Kubernetes has them as text, quoted or not."""


_KubernetesLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_manifests(names: Sequence[str]) -> list[Manifest]:
    """Read and check every object in the named files, directories and standard input."""
    return list(map(_checked, read_manifests(names)))


def read_manifests(names: Sequence[str]) -> list[Manifest]:
    """Read every object in the named files, directories and standard input, whatever it is."""
    return [manifest for name in names for manifest in _load(name)]


def _checked(manifest: Manifest) -> Manifest:
    """Bring an object to the version that the engine reads, and refuse it if it cannot be used."""
    if manifest.is_configuration:
        return manifest
    try:
        raw = to_v1beta2(manifest.raw)
        check_object(raw)
    except InvalidObjectError as error:
        raise ManifestError(f"{manifest.source}: {error}") from None
    return Manifest(raw, manifest.source)


def _load(name: str) -> Iterator[Manifest]:
    if name == STDIN:
        yield from _objects(sys.stdin.buffer.read(), "standard input")
        return
    path = Path(name)
    if path.is_dir():
        files = sorted(entry for entry in path.iterdir() if entry.suffix in _SUFFIXES and entry.is_file())
        if not files:
            raise ManifestError(f"{name}: no file ends in {', '.join(sorted(_SUFFIXES))}")
    else:
        files = [path]
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ManifestError(f"{file}: {error.strerror}") from None
        yield from _objects(content, str(file))


def _objects(content: bytes, source: str) -> Iterator[Manifest]:
    for document in _documents(content, source):
        if document is not None:
            yield from _flatten(document, source)


def _documents(content: bytes, source: str) -> list[Any]:
    if content.lstrip()[:1] == b"{":
        try:
            return [orjson.loads(content)]
        except orjson.JSONDecodeError as error:
            raise ManifestError(f"{source}: not JSON: {error}") from None
    try:
        return list(yaml.load_all(content, Loader=_KubernetesLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ManifestError(f"{source}: not YAML: {' '.join(str(error).split())}") from None


def _flatten(document: Any, source: str) -> Iterator[Manifest]:
    if not isinstance(document, dict):
        raise ManifestError(f"{source}: a document is not an object but {type(document).__name__}")
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
