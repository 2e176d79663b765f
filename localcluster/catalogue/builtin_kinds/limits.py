"""Limits that typed kinds check themselves, in their own words rather than in OpenAPI's."""

from collections.abc import Iterable, Iterator

from config.api.meta import Obj
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors


def check_not_negative(part: Obj, fields: Iterable[str], path: str) -> Iterator[SchemaError]:
    """Return an error for each of the fields that is below zero."""
    for field in fields:
        if part.get(field, 0) < 0:
            yield errors.invalid(f"{path}.{field}", part[field], errors.MUST_NOT_BE_NEGATIVE)


def check_containers(pod: Obj, path: str) -> Iterator[SchemaError]:
    """Return what is missing in a pod's containers."""
    if not pod.get("containers"):
        yield errors.required(f"{path}.containers")
    for group in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(group) or ()):
            if not container.get("image"):
                yield errors.required(f"{path}.{group}[{index}].image")
