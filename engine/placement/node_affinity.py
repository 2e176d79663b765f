"""Required node affinity, restricted to the label keys that a flavor defines.

Terms are ORed and the expressions of a term are ANDed. An expression that Kubernetes cannot evaluate spoils its term;
if no other term matches, the whole check is an error with the text that Kueue writes into the workload's status.
"""

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, Self

_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_INT64: Final = range(-(2**63), 2**63)
_LABEL_VALUE: Final = re.compile(r"(?:(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LABEL_VALUE_MAX: Final = 63
_LABEL_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


class AffinityError(ValueError):
    """A required affinity that cannot be evaluated; the text is Kubernetes' own."""


@dataclass(frozen=True, slots=True)
class Expression:
    """One requirement on one label; `values` is None when the field is absent."""

    key: str
    operator: str
    values: tuple[str, ...] | None

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a raw node selector requirement."""
        values = raw.get("values")
        return cls(raw.get("key") or "", raw.get("operator") or "", None if values is None else tuple(values))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Evaluate an expression that has no problems."""
        actual, values = labels.get(self.key), self.values or ()
        match self.operator:
            case "In":
                return actual in values
            case "NotIn":
                return actual not in values
            case "Exists":
                return actual is not None
            case "DoesNotExist":
                return actual is None
            case _:
                number = None if actual is None else _parse_int64(actual)
                bound = _parse_int64(values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator == "Gt" else number < bound

    def problems(self, path: str) -> list[str]:
        """Return what Kubernetes would say against this expression at `path`."""
        if self.operator not in _OPERATORS:
            supported = ", ".join(f'"{name}"' for name in _OPERATORS)
            return [f"{path}.operator: Unsupported value: {_quoted(self.operator)}: supported values: {supported}"]
        found = self._problem_of_values(f"{path}.values")
        for index, value in enumerate(self.values or ()):
            rules = [] if len(value) <= _LABEL_VALUE_MAX else [f"must be no more than {_LABEL_VALUE_MAX} bytes"]
            if not _LABEL_VALUE.fullmatch(value):
                rules.append(_LABEL_VALUE_RULE)
            if rules:
                found.append(f"{path}.values[{index}][{self.key}]: Invalid value: {_quoted(value)}: {'; '.join(rules)}")
        return found

    def _problem_of_values(self, path: str) -> list[str]:
        values = self.values or ()
        written = json.dumps(self.values, separators=(",", ":"), ensure_ascii=False)
        match self.operator:
            case "In" | "NotIn":
                rule = "" if values else "for 'in', 'notin' operators, values set can't be empty"
            case "Exists" | "DoesNotExist":
                rule = "values set must be empty for exists and does not exist" if values else ""
            case _:
                rule = "" if len(values) == 1 else "for 'Gt', 'Lt' operators, exactly one value is required"
        found = [f"{path}: Invalid value: {written}: {rule}"] if rule else []
        if self.operator in ("Gt", "Lt"):
            rule = "for 'Gt', 'Lt' operators, the value must be an integer"
            found += [
                f"{path}[{index}]: Invalid value: {_quoted(value)}: {rule}"
                for index, value in enumerate(values)
                if _parse_int64(value) is None
            ]
        return found


Term = tuple[Expression, ...]


def read_required_terms(pod_spec: Mapping[str, Any]) -> tuple[Term, ...]:
    """Return the required terms of a raw pod spec; fields of nodes and preferences play no role for flavors."""
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return tuple(
        tuple(map(Expression.from_raw, term.get("matchExpressions") or ()))
        for term in required.get("nodeSelectorTerms") or ()
    )


def restrict(terms: Sequence[Term], keys: AbstractSet[str]) -> tuple[Term, ...]:
    """Drop expressions on foreign keys; a term left empty matches anything, and with it the whole affinity."""
    restricted = tuple(tuple(expression for expression in term if expression.key in keys) for term in terms)
    return restricted if all(restricted) else ()


def matches_any(terms: Sequence[Term], labels: Mapping[str, str]) -> bool:
    """Return whether some term matches; raise AffinityError when none does and some cannot be evaluated."""
    problems: list[str] = []
    for index, term in enumerate(terms):
        found = [
            problem
            for position, expression in enumerate(term)
            for problem in expression.problems(f"nodeSelectorTerms[{index}].matchExpressions[{position}]")
        ]
        if not found and all(expression.matches(labels) for expression in term):
            return True
        problems += found
    if problems:
        distinct = list(dict.fromkeys(problems))
        raise AffinityError(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return False


def _parse_int64(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
