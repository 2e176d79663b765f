"""Label selectors: which labels match, and what a malformed selector has wrong.

Invariant: the verdict is that of Kubernetes' own LabelSelector: null matches nothing, the empty selector everything,
and a malformed one is an error whatever the labels are.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_VALUE: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DNS_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_MAX_PART: Final = 63
_MAX_PREFIX: Final = 253
_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorError(ValueError):
    """A selector or label that Kubernetes refuses; the message begins with the field."""


def matches_selector(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Return whether `labels` match the selector."""
    if selector is None:
        return False
    check_selector(selector)
    match_labels = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in match_labels.items()):
        return False
    return all(_matches_expression(expression, labels) for expression in selector.get("matchExpressions") or ())


def check_selector(selector: Mapping[str, Any]) -> None:
    """Raise SelectorError for a selector that Kubernetes cannot evaluate."""
    for key, value in (selector.get("matchLabels") or {}).items():
        check_label_key("matchLabels", key)
        check_label_value(f"matchLabels[{key}]", value)
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        _check_expression(f"matchExpressions[{index}]", expression)


def check_label_key(field: str, key: object) -> None:
    """Raise SelectorError unless `key` is a qualified name: an optional DNS prefix, a slash, a name."""
    prefix, slash, name = key.rpartition("/") if isinstance(key, str) else ("", "", "")
    prefix_is_valid = not slash or (len(prefix) <= _MAX_PREFIX and _DNS_SUBDOMAIN.fullmatch(prefix) is not None)
    if not (prefix_is_valid and len(name) <= _MAX_PART and _NAME.fullmatch(name)):
        raise SelectorError(f"{field}: {key!r} is not a label key: must be [prefix/]name, the name up to 63 characters")


def check_label_value(field: str, value: object) -> None:
    """Raise SelectorError unless `value` can be the value of a label."""
    if not isinstance(value, str) or len(value) > _MAX_PART or not _VALUE.fullmatch(value):
        raise SelectorError(
            f"{field}: {value!r} is not a label value: must be up to 63 letters, digits, '-', '_' or '.', "
            f"beginning and ending with a letter or digit"
        )


def _check_expression(field: str, expression: Mapping[str, Any]) -> None:
    operator, values = expression.get("operator"), expression.get("values") or []
    if operator not in _OPERATORS:
        raise SelectorError(f"{field}.operator: {operator!r} is not allowed: {', '.join(_OPERATORS)}")
    check_label_key(f"{field}.key", expression.get("key"))
    if operator in ("In", "NotIn") and not values:
        raise SelectorError(f"{field}.values: must not be empty when the operator is {operator}")
    if operator in ("Exists", "DoesNotExist") and values:
        raise SelectorError(f"{field}.values: must be empty when the operator is {operator}")
    for index, value in enumerate(values):
        check_label_value(f"{field}.values[{index}]", value)


def _matches_expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key: str = expression["key"]
    match expression["operator"]:
        case "In":
            return labels.get(key) in expression["values"]
        case "NotIn":
            return key not in labels or labels[key] not in expression["values"]
        case "Exists":
            return key in labels
        case _:
            return key not in labels
