"""Events: stored once as core/v1, also served as events.k8s.io/v1, whose fields have other names."""

from collections.abc import Mapping, Sequence

from config.api.meta import Obj
from localcluster.kinds.columns import computed_column, field_column, read, text_field
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import Alias, ServedKind
from localcluster.kinds.schema import Schema, SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import int32, obj, string, timestamp

_CORE_TO_EVENTS = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_EVENTS_TO_CORE = {ours: theirs for theirs, ours in _CORE_TO_EVENTS.items()}


def core_event_kind() -> ServedKind:
    """Return the Event kind of core/v1, the one that is stored."""
    return ServedKind(
        group="",
        version="v1",
        kind="Event",
        plural="events",
        singular="event",
        namespaced=True,
        short_names=("ev",),
        schema=resource(_core_fields()),
        columns=(
            computed_column("Last Seen", _last_seen, of="date"),
            field_column("Type", "type"),
            field_column("Reason", "reason"),
            computed_column("Object", _describe_object),
            field_column("Message", "message"),
            computed_column("Count", lambda event: event.get("count", 1), wide=True),
            computed_column("Name", lambda event: event["metadata"]["name"], wide=True),
        ),
        selectable_fields={
            **{
                f"involvedObject.{part}": text_field(f"involvedObject.{part}")
                for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
            },
            "reason": text_field("reason"),
            "reportingComponent": text_field("reportingComponent"),
            "source": _source,
            "type": text_field("type"),
        },
        validate=_check_core_event,
    )


def events_event_kind() -> ServedKind:
    """Return the Event kind of events.k8s.io/v1: another view of the same objects."""
    fields = {_CORE_TO_EVENTS.get(name, name): schema for name, schema in _core_fields().items()}
    return ServedKind(
        group="events.k8s.io",
        version="v1",
        kind="Event",
        plural="events",
        singular="event",
        namespaced=True,
        short_names=("ev",),
        schema=resource(fields),
        columns=core_event_kind().columns,
        selectable_fields=core_event_kind().selectable_fields,
        validate=_check_events_event,
        alias=Alias(group="", version="v1", plural="events", to_stored=to_core_event, from_stored=to_events_event),
    )


def to_core_event(event: Obj) -> Obj:
    """Translate an events.k8s.io/v1 object into the stored spelling."""
    return {**_rename(event, _EVENTS_TO_CORE), "apiVersion": "v1"}


def to_events_event(event: Obj) -> Obj:
    """Translate a stored event into the spelling of events.k8s.io/v1."""
    return {**_rename(event, _CORE_TO_EVENTS), "apiVersion": "events.k8s.io/v1"}


def _rename(event: Obj, names: Mapping[str, str]) -> Obj:
    return {names.get(key, key): value for key, value in event.items()}


def _core_fields() -> dict[str, Schema]:
    reference = obj(
        {part: string() for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")},
        atomic=True,
    )
    return {
        "involvedObject": reference,
        "related": reference,
        "reason": string(),
        "message": string(),
        "source": obj({"component": string(), "host": string()}),
        "firstTimestamp": timestamp(),
        "lastTimestamp": timestamp(),
        "count": int32(),
        "type": string(),
        "eventTime": timestamp(),
        "series": obj({"count": int32(), "lastObservedTime": timestamp()}),
        "action": string(),
        "reportingComponent": string(),
        "reportingInstance": string(),
    }


def _check_core_event(new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    """Demand that an event about a namespaced object lives beside it, as the API server does."""
    involved = read(new, "involvedObject.namespace") or ""
    namespace = new["metadata"].get("namespace", "")
    if involved != namespace and not (not involved and namespace in {"default", "kube-system"}):
        return [errors.invalid("involvedObject.namespace", involved, "does not match event.namespace")]
    return []


def _check_events_event(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    if old is not None:
        return []
    wanted = (
        ("reportingController", "reportingInstance", "action", "reason") if new.get("eventTime") else ("eventTime",)
    )
    found = [errors.required(field) for field in wanted if not new.get(field)]
    if new.get("type") not in {"Normal", "Warning"}:
        found.append(errors.invalid("type", "", f"has invalid value: {new.get('type', '')}"))
    return found


def _source(event: Obj) -> str:
    return str(read(event, "source.component") or event.get("reportingComponent") or "")


def _last_seen(event: Obj) -> object:
    return read(event, "series.lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")


def _describe_object(event: Obj) -> str:
    reference = event.get("involvedObject") or event.get("regarding") or {}
    return f"{str(reference.get('kind', '')).lower()}/{reference.get('name', '')}"
