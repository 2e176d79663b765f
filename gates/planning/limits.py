"""How large a planned job may be: as large as Kueue and an API server accept.

A plan is made from what a stranger sends, so each limit bounds work. Pure; everything beyond a limit is refused by the
name of the field.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from config.api.meta import Raw
from gates.jobs.reading import ManifestFieldError

MOST_POD_SETS: Final = 18
"""Kueue's own limit."""
MOST_CONTAINERS: Final = 100
LARGEST_TEMPLATE: Final = 16 << 10
"""In bytes of JSON; affinity, tolerations and environment are part of it."""
LARGEST_METADATA: Final = 256 << 10
"""In bytes of JSON; an API server takes no larger annotations."""
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def check_metadata(metadata: Raw) -> None:
    """Refuse labels and annotations beyond the limit."""
    for name in ("labels", "annotations"):
        size = _size(metadata.get(name))
        if size > LARGEST_METADATA:
            raise ManifestFieldError(f"metadata.{name} has {size} bytes: must be at most {LARGEST_METADATA}")


def too_many_pod_sets(place: str, count: int) -> str:
    """Say how many pod sets are allowed."""
    return f"{place} has {count} pod sets: must be at most {MOST_POD_SETS}"


def too_many_containers(place: str, count: int) -> str:
    """Say how many containers are allowed."""
    return f"{place} have {count} containers in all: must be at most {MOST_CONTAINERS}"


def check_pod_sets(pod_sets: object, place: str) -> None:
    """Refuse pod sets beyond the limits; anything but a list of maps is left to its reader."""
    if not isinstance(pod_sets, Sequence) or isinstance(pod_sets, str):
        return
    if len(pod_sets) > MOST_POD_SETS:
        raise ManifestFieldError(too_many_pod_sets(place, len(pod_sets)))
    containers = 0
    for index, pod_set in enumerate(pod_sets):
        template = pod_set.get("template") if isinstance(pod_set, Mapping) else None
        if (size := _size(template)) > LARGEST_TEMPLATE:
            where = f"{place}[{index}].template"
            raise ManifestFieldError(f"{where} has {size} bytes: must be at most {LARGEST_TEMPLATE}")
        containers += _containers(template)
    if containers > MOST_CONTAINERS:
        raise ManifestFieldError(too_many_containers(place, containers))


def _containers(template: object) -> int:
    spec = template.get("spec") if isinstance(template, Mapping) else None
    if not isinstance(spec, Mapping):
        return 0
    found = (spec.get(name) for name in _CONTAINERS)
    return sum(len(each) for each in found if isinstance(each, list))


def _size(value: object) -> int:
    return len(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)) if value else 0
