"""The one way in which commands load YAML and JSON that users give them, as kubectl reads them.

Bounded in depth and size, and no key may be given twice. It uses the loader in C, because a dump of a cluster is large;
`config.reading.yaml_document` is for small files in which every value needs its line.
"""

from typing import Any, Final

import orjson
import yaml

from manager.cli.reading.bounds import UnboundedDocumentError, check_depth, check_yaml

_MAX_YAML: Final = 16 << 20
"""YAML takes about a second for each megabyte, JSON a tenth of that."""
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class UnusableDocumentError(ValueError):
    """Why there is nothing to load."""


class _KubernetesLoader(yaml.CSafeLoader):
    """Leaves times alone, which Kubernetes has as text, quoted or not; refuses a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise UnusableDocumentError(f'"{key.value}" is given twice (line {key.start_mark.line + 1})')
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_KubernetesLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_documents(content: bytes) -> list[Any]:
    """Return every document in it; raises `UnusableDocumentError`."""
    is_json = content.lstrip()[:1] == b"{"
    if not is_json and len(content) > _MAX_YAML:
        limit = f"{len(content) >> 20} MiB of YAML: must be at most {_MAX_YAML >> 20} MiB"
        raise UnusableDocumentError(
            f"{limit}; write it as JSON, such as with `kubectl get -o json`, which may be larger"
        )
    try:
        return _json(content) if is_json else _yaml(content)
    except UnboundedDocumentError as error:
        raise UnusableDocumentError(str(error)) from None


def _json(content: bytes) -> list[Any]:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise UnusableDocumentError(f"not JSON: {error}") from None
    check_depth(document)
    return [document]


def _yaml(content: bytes) -> list[Any]:
    try:
        check_yaml(content, _KubernetesLoader)
        return list(yaml.load_all(content, Loader=_KubernetesLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnusableDocumentError(f"not YAML: {' '.join(str(error).split())}") from None
