"""Options of a request, from its query string or its body, with the API server's defaults and refusals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.api.meta import Obj
from localcluster.kinds.api_errors import bad_request, invalid
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors
from localcluster.store.admission import FieldValidation
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from localcluster.store.selectors import FieldRequirement, Selector, parse_fields, parse_labels
from localcluster.store.write_options import WriteOptions

Query = Mapping[str, Sequence[str]]

_META_GROUP = "meta.k8s.io"
_MATCHES = ("Exact", "NotOlderThan", "")
_MANAGER_LIMIT = 128


def text(query: Query, name: str) -> str:
    """Return the first value of a parameter, empty if it is not there."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool | None:
    """Return a parameter as Go's conversion reads it: only "false" and "0" are false, even nothing is true."""
    values = query.get(name)
    if not values:
        return None
    return values[0].lower() not in ("false", "0")


def integer(query: Query, name: str) -> int | None:
    """Return a whole number, or refuse."""
    value = text(query, name)
    if not value:
        return None
    try:
        return int(value)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{value}": invalid syntax') from None


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a list or a watch is asked to show."""

    selector: Selector
    watch: bool = False
    resource_version: str = ""
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    bookmarks: bool = False
    initial_events: bool | None = None


def list_options(kind: ServedKind, query: Query, name: str = "") -> ListOptions:
    """Read the options of a list, a watch or a collection deletion; a name in the path is a selector too."""
    fields = parse_fields(kind, text(query, "fieldSelector"))
    if name:
        fields = _with_name(fields, name)
    options = ListOptions(
        selector=Selector(parse_labels(text(query, "labelSelector")), fields),
        watch=flag(query, "watch") or False,
        resource_version=text(query, "resourceVersion"),
        match=text(query, "resourceVersionMatch"),
        limit=max(integer(query, "limit") or 0, 0),
        continue_token=text(query, "continue"),
        timeout_seconds=integer(query, "timeoutSeconds"),
        bookmarks=flag(query, "allowWatchBookmarks") or False,
        initial_events=flag(query, "sendInitialEvents"),
    )
    problems = _watch_problems(options) if options.watch else _list_problems(options)
    if problems:
        raise invalid("ListOptions", _META_GROUP, "", problems)
    return options


def _with_name(fields: tuple[FieldRequirement, ...], name: str) -> tuple[FieldRequirement, ...]:
    exact = Selector(fields=fields).exact_name()
    if fields and exact != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return fields or (FieldRequirement("metadata.name", name, equal=True, read=lambda obj: obj["metadata"]["name"]),)


def _list_problems(options: ListOptions) -> list[SchemaError]:
    field = "resourceVersionMatch"
    problems = []
    if options.match:
        if not options.resource_version:
            problems.append(errors.forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            problems.append(errors.forbidden(field, f"{field} is forbidden when continue is provided"))
        if options.match not in _MATCHES:
            problems.append(errors.not_supported(field, options.match, _MATCHES))
        if options.match == "Exact" and options.resource_version == "0":
            why = f'{field} "exact" is forbidden for resourceVersion "0"'
            problems.append(errors.forbidden(field, why))
    if options.initial_events is not None:
        problems.append(errors.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return problems


def _watch_problems(options: ListOptions) -> list[SchemaError]:
    field = "resourceVersionMatch"
    problems = []
    if options.initial_events is not None and options.match != "NotOlderThan":
        why = f"sendInitialEvents requires setting {field} to NotOlderThan"
        problems.append(errors.forbidden(field, why))
    if options.match:
        if options.initial_events is None:
            why = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            problems.append(errors.forbidden(field, why))
        if options.match != "NotOlderThan":
            problems.append(errors.not_supported(field, options.match, ["NotOlderThan"]))
        if options.continue_token:
            problems.append(errors.forbidden(field, f"{field} is forbidden when continue is provided"))
    return problems


def write_options(query: Query, user_agent: str, verb: str, *, is_apply: bool = False) -> WriteOptions:
    """Read the options of a create, an update or a patch."""
    manager = text(query, "fieldManager")
    dry_run = query.get("dryRun", ())
    validation = text(query, "fieldValidation")
    problems: list[SchemaError] = []
    if is_apply and not manager:
        problems.append(errors.required("fieldManager", "is required for apply patch"))
    if verb == "patch" and not is_apply and "force" in query:
        problems.append(errors.forbidden("force", "may not be specified for non-apply patch"))
    problems.extend(_manager_problems(manager))
    problems.extend(_dry_run_problems(dry_run))
    if validation not in ("", *FieldValidation):
        allowed = ("", *sorted(FieldValidation))
        problems.append(errors.not_supported("fieldValidation", validation, allowed))
    if problems:
        raise invalid(f"{verb.capitalize()}Options", _META_GROUP, "", problems)
    return WriteOptions(
        manager=manager or _manager_of(user_agent),
        dry_run=bool(dry_run),
        field_validation=FieldValidation(validation) if validation else FieldValidation.WARN,
        force=flag(query, "force") or False,
    )


def _manager_of(user_agent: str) -> str:
    """Return the name under which a client that gives none owns fields: its user agent up to the first slash."""
    name = "".join(sign for sign in user_agent.partition("/")[0] if sign.isprintable())
    return name[:_MANAGER_LIMIT] or "unknown"


def _manager_problems(manager: str) -> list[SchemaError]:
    problems = []
    if len(manager) > _MANAGER_LIMIT:
        problems.append(errors.too_long("fieldManager", _MANAGER_LIMIT))
    for at, sign in enumerate(manager):
        if not sign.isprintable():
            why = f"invalid character U+{ord(sign):04X} (at position {at})"
            problems.append(errors.invalid("fieldManager", manager, why))
    return problems


def _dry_run_problems(values: Sequence[str]) -> list[SchemaError]:
    if all(value == "All" for value in values):
        return []
    return [errors.not_supported("dryRun", list(values), ["All"])]


def delete_options(query: Query, body: Obj | None) -> DeleteOptions:
    """Read the options of a deletion, from the body if there is one, else from the query."""
    given: Mapping[str, Any] = body if body is not None else _query_as_options(query)
    preconditions = given.get("preconditions") or {}
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    grace, dry_run = given.get("gracePeriodSeconds"), given.get("dryRun") or []
    _refuse_wrong_types(preconditions, policy, grace, dry_run)
    problems: list[SchemaError] = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(errors.invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in tuple(DeletionPropagation):
        allowed = ("Foreground", "Background", "Orphan", "nil")
        problems.append(errors.not_supported("propagationPolicy", policy, allowed))
    problems.extend(_dry_run_problems(dry_run))
    if problems:
        raise invalid("DeleteOptions", _META_GROUP, "", problems)
    if orphan is not None:
        propagation: DeletionPropagation | None = (
            DeletionPropagation.ORPHAN if orphan else DeletionPropagation.BACKGROUND
        )
    else:
        propagation = DeletionPropagation(policy) if policy else None
    return DeleteOptions(
        propagation=propagation,
        grace_seconds=grace,
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
        reports_waiting=orphan is False,
    )


def _query_as_options(query: Query) -> Obj:
    given: Obj = {
        "gracePeriodSeconds": integer(query, "gracePeriodSeconds"),
        "orphanDependents": flag(query, "orphanDependents"),
        "propagationPolicy": text(query, "propagationPolicy") or None,
        "dryRun": list(query.get("dryRun", ())),
    }
    return {key: value for key, value in given.items() if value is not None}


def _refuse_wrong_types(preconditions: object, policy: object, grace: object, dry_run: object) -> None:
    fits = (
        isinstance(preconditions, dict)
        and isinstance(policy, str | None)
        and isinstance(grace, int | None)
        and isinstance(dry_run, list)
    )
    if not fits:
        raise bad_request("json: cannot unmarshal the body into Go value of type v1.DeleteOptions")
