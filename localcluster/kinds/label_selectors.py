"""Validation of label selectors inside objects."""

from collections.abc import Iterator

from config.api.meta import Obj
from localcluster.kinds.metadata import check_label_name, check_labels
from localcluster.kinds.names import explain_label_value
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors


def check_label_selector(selector: Obj, path: str) -> Iterator[SchemaError]:
    """Return what is wrong with a label selector."""
    yield from check_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        yield from _check_requirement(requirement, f"{path}.matchExpressions[{index}]")


def _check_requirement(requirement: Obj, path: str) -> Iterator[SchemaError]:
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "In" | "NotIn":
            if not values:
                yield errors.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                complaint = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield errors.forbidden(f"{path}.values", complaint)
        case operator:
            yield errors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    yield from check_label_name(requirement["key"], f"{path}.key")
    for index, value in enumerate(values):
        for problem in explain_label_value(value):
            yield errors.invalid(f"{path}.values[{index}]", value, problem)
