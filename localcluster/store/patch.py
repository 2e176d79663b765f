"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902), as functions from a document to a new one.

The original is never changed. A patch that cannot be carried out raises the error that the API server answers.
"""

from collections.abc import Sequence
from typing import Any

from localcluster.kinds.api_errors import bad_request, rejected

MAX_OPERATIONS = 10_000


def merge_patch(target: Any, patch: Any) -> Any:
    """Return the target with the patch laid over it: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = merge_patch(merged.get(key), value)
        else:
            merged[key] = value
    return merged


def json_patch(document: Any, operations: object) -> Any:
    """Return the document after all operations, or refuse them all."""
    if not isinstance(operations, list):
        found = "object" if isinstance(operations, dict) else "value"
        why = f"json: cannot unmarshal {found} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {why}")
    if len(operations) > MAX_OPERATIONS:
        raise bad_request(f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}")
    for operation in operations:
        document = _operate(document, operation)
    return document


def _operate(document: Any, operation: object) -> Any:
    if not isinstance(operation, dict):
        raise bad_request("error decoding patch: json: cannot unmarshal value into Go value of type jsonPatchOp")
    path = _parse(operation.get("path"))
    match operation.get("op"):
        case "add":
            return _set(document, path, _value(operation), create=True)
        case "replace":
            return _set(document, path, _value(operation), create=False)
        case "remove":
            return _remove(document, path)
        case "test":
            if _find(document, path) != operation.get("value"):
                raise rejected()
            return document
        case "copy":
            return _set(document, path, _find(document, _parse(operation.get("from"))), create=True)
        case "move":
            source = _parse(operation.get("from"))
            moved = _find(document, source)
            return _set(_remove(document, source), path, moved, create=True)
        case _:
            raise rejected()


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise rejected()
    return operation["value"]


def _parse(pointer: object) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise rejected()
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _find(document: Any, path: Sequence[str]) -> Any:
    for part in path:
        document = _step(document, part)
    return document


def _step(node: Any, part: str) -> Any:
    if isinstance(node, dict) and part in node:
        return node[part]
    if isinstance(node, list):
        return node[_index(part, len(node) - 1)]
    raise rejected()


def _index(part: str, last: int) -> int:
    if not part.isdecimal() or not 0 <= int(part) <= last:
        raise rejected()
    return int(part)


def _set(node: Any, path: Sequence[str], value: Any, *, create: bool) -> Any:
    if not path:
        return value
    part, rest = path[0], path[1:]
    if rest:
        return _with_child(node, part, _set(_step(node, part), rest, value, create=create))
    if isinstance(node, dict):
        # The server's JSON patch library lets "replace" add a missing field of an object.
        return {**node, part: value}
    if isinstance(node, list):
        if not create:
            return _with_child(node, part, value)
        at = len(node) if part == "-" else _index(part, len(node))
        return [*node[:at], value, *node[at:]]
    raise rejected()


def _with_child(node: Any, part: str, child: Any) -> Any:
    if isinstance(node, dict):
        return {**node, part: child}
    at = _index(part, len(node) - 1)
    return [*node[:at], child, *node[at + 1 :]]


def _remove(node: Any, path: Sequence[str]) -> Any:
    if not path:
        raise rejected()
    part, rest = path[0], path[1:]
    child = _step(node, part)
    if rest:
        return _with_child(node, part, _remove(child, rest))
    if isinstance(node, dict):
        return {key: value for key, value in node.items() if key != part}
    at = int(part)
    return [*node[:at], *node[at + 1 :]]
