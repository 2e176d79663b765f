"""Table output: what `kubectl get` prints, computed by the server from a kind's columns."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from localcluster.kinds import Column, Kind, Obj
from localcluster.ledger import Version
from localcluster.status import bad_request

_NAME_COLUMN: Obj = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace.",
    "priority": 0,
}
_AGE = Column(
    "Age",
    "date",
    lambda obj: obj["metadata"].get("creationTimestamp"),
    description="CreationTimestamp is the server time when this object was created.",
)


class IncludeObject(StrEnum):
    """How much of each object a row carries."""

    METADATA = "Metadata"
    NONE = "None"
    OBJECT = "Object"


def include_object(text: str) -> IncludeObject:
    """Read the parameter, or refuse."""
    if text and text not in tuple(IncludeObject):
        why = f"includeObject: Invalid value: \"{text}\": must be 'Metadata', 'Object', 'None', or empty"
        raise bad_request(f"Unable to convert to Table as requested: {why}")
    return IncludeObject(text) if text else IncludeObject.METADATA


def table(
    kind: Kind,
    versions: Iterable[Version],
    now: datetime,
    include: IncludeObject,
    list_meta: Obj,
    *,
    headers: bool = True,
) -> Obj:
    """Return a `Table` of the objects; a watch sends its headers only once."""
    columns = kind.columns or (_AGE,)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": list_meta,
        "columnDefinitions": [_NAME_COLUMN, *map(_definition, columns)] if headers else None,
        "rows": [_row(version.obj, columns, now, include) for version in versions],
    }


def _definition(column: Column) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(obj: Obj, columns: tuple[Column, ...], now: datetime, include: IncludeObject) -> Obj:
    row: Obj = {"cells": [obj["metadata"]["name"], *(_cell(column, obj, now) for column in columns)]}
    if include is IncludeObject.METADATA:
        row["object"] = partial_metadata(obj)
    elif include is IncludeObject.OBJECT:
        row["object"] = obj
    return row


def _cell(column: Column, obj: Obj, now: datetime) -> object:
    value = column.value(obj)
    if column.type != "date":
        return value
    if value is None:
        return "<unknown>"
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return "<invalid>"
    return human_duration(now - moment.replace(tzinfo=moment.tzinfo or UTC))


def partial_metadata(obj: Obj) -> Obj:
    """Return the object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def human_duration(age: timedelta) -> str:
    """Return a duration as kubectl prints ages: about two to three significant digits."""
    seconds = int(age.total_seconds())
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes < 10:
        return _pair(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _pair(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _pair(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
