"""Table output: what `kubectl get` prints, computed by the server from a kind's columns."""

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum

from config.api.meta import Obj
from localcluster.kinds.api_errors import bad_request
from localcluster.kinds.durations import human_duration
from localcluster.kinds.kinds import PrinterColumn, ServedKind
from localcluster.store.ledger import Version

_NAME_COLUMN: Obj = {
    "name": "Name",
    "type": "string",
    "format": "name",
    "description": "Name must be unique within a namespace.",
    "priority": 0,
}
_AGE = PrinterColumn(
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
    kind: ServedKind,
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
        "columnDefinitions": _definitions(columns) if headers else None,
        "rows": [_row(version.obj, columns, now, include) for version in versions],
    }


def _names_itself(columns: tuple[PrinterColumn, ...]) -> bool:
    return any(column.name == "Name" for column in columns)


def _definitions(columns: tuple[PrinterColumn, ...]) -> list[Obj]:
    own = [_definition(column) for column in columns]
    return own if _names_itself(columns) else [_NAME_COLUMN, *own]


def _definition(column: PrinterColumn) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _row(obj: Obj, columns: tuple[PrinterColumn, ...], now: datetime, include: IncludeObject) -> Obj:
    cells = [_cell(column, obj, now) for column in columns]
    row: Obj = {"cells": cells if _names_itself(columns) else [obj["metadata"]["name"], *cells]}
    if include is IncludeObject.METADATA:
        row["object"] = partial_metadata(obj)
    elif include is IncludeObject.OBJECT:
        row["object"] = obj
    return row


def _cell(column: PrinterColumn, obj: Obj, now: datetime) -> object:
    value = column.value(obj)
    if column.type != "date" or value is None:
        return value
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return value
    return human_duration((now - moment.replace(tzinfo=moment.tzinfo or UTC)).total_seconds())


def partial_metadata(obj: Obj) -> Obj:
    """Return the object reduced to its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
