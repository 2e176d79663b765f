"""The context, cluster and user that several kubeconfig files describe together, merged as kubectl merges them.

Files and certificates are read here, relative to the file that names them, so that kubernetes-asyncio gets no path to
follow and no inline data, which it would write to temporary files.
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigMerger

from config.kubeconfig.sources import read_token_file
from config.reading.files import UnreadableFileError, read_bounded
from config.types.syntax import printable
from workerclient.operator.errors import OperatorKubeconfigError

_MAX_MATERIAL_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One named entry of `contexts`, `clusters` or `users`, and the file that it is from."""

    name: str
    path: Path
    values: Mapping[str, Any] = field(repr=False)

    def wrong(self, problem: str) -> OperatorKubeconfigError:
        """Return the error that says what is wrong with this entry."""
        return OperatorKubeconfigError(f'kubeconfig {self.path}: "{printable(self.name)}" {problem}')

    def text(self, key: str) -> str:
        """Return a string, empty when it is absent."""
        value = self.values.get(key)
        if not isinstance(value, str | None):
            raise self.wrong(f"has a {key} that is not a string")
        return value or ""

    def material(self, key: str) -> bytes | None:
        """Return PEM text, from `<key>-data` if that is there, else from the file that `<key>` names."""
        if data := self.text(f"{key}-data"):
            try:
                return base64.b64decode(data, validate=True)
            except (binascii.Error, ValueError):
                raise self.wrong(f"has a {key}-data that is not base64") from None
        if not (named := self.text(key)):
            return None
        try:
            return read_bounded(self.file(named), _MAX_MATERIAL_SIZE)
        except UnreadableFileError as error:
            raise self.wrong(f"names the {key} {named}, which {error}") from None

    def token_file(self) -> bytes | None:
        """Return the content of the token file, None if the entry names none."""
        if not (named := self.text("tokenFile")):
            return None
        try:
            return read_token_file(self.file(named))
        except UnreadableFileError as error:
            raise self.wrong(f"names the tokenFile {named}, which {error}") from None

    def file(self, named: str) -> Path:
        """Return a file that the entry names; relative paths start where the kubeconfig is."""
        return self.path.parent / named


@dataclass(frozen=True, slots=True)
class ChosenContext:
    """A context with the cluster and the user that it names."""

    context: Entry
    cluster: Entry
    user: Entry


def choose(paths: Sequence[Path], context: str) -> ChosenContext:
    """Merge the files and return what the context names; raises `OperatorKubeconfigError`."""
    listed = ", ".join(str(path) for path in paths)
    try:
        merger = KubeConfigMerger(os.pathsep.join(str(path.absolute()) for path in paths))
        merged = merger.config
        entries = {kind: _entries(merged, kind) for kind in ("context", "cluster", "user")}
    # What these errors say may hold a credential: the library puts whole entries into them.
    except (ConfigException, yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError):
        problem = "clusters, contexts and users must be lists of entries with a name"
        raise OperatorKubeconfigError(f"kubeconfig {listed}: {problem}") from None
    chosen = entries["context"].get(context)
    if chosen is None:
        raise OperatorKubeconfigError(f'there is no context "{printable(context)}" in {listed}')
    found = []
    for kind in ("cluster", "user"):
        named = chosen.text(kind)
        entry = entries[kind].get(named)
        if entry is None:
            remedy = "add the file that describes it to $KUBECONFIG"
            raise chosen.wrong(f'names the {kind} "{printable(named)}", which is not in {listed}; {remedy}')
        found.append(entry)
    return ChosenContext(chosen, *found)


def _entries(merged: Any, kind: str) -> dict[str, Entry]:
    nodes = [(node.value, Path(node.path)) for node in merged.value[f"{kind}s"]]
    return {value["name"]: Entry(value["name"], path, dict(value.get(kind) or {})) for value, path in nodes}
