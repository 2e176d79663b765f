"""Formats of names, label keys and label values, with the sentences that Kubernetes answers to a wrong one."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final


class NameFormat(StrEnum):
    """What a kind allows as `metadata.name`."""

    SUBDOMAIN = "DNS-1123 subdomain"
    LABEL = "DNS-1123 label"
    PATH_SEGMENT = "path segment"


_LABEL_FORMAT: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORMAT: Final = rf"{_LABEL_FORMAT}(\.{_LABEL_FORMAT})*"
_KEY_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORMAT: Final = f"({_KEY_FORMAT})?"

_LABEL: Final = re.compile(_LABEL_FORMAT)
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORMAT)
_KEY: Final = re.compile(_KEY_FORMAT)
_VALUE: Final = re.compile(_VALUE_FORMAT)

_ENDS: Final = "and must start and end with an alphanumeric character"
_WRONG_LABEL: Final = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_FORMAT}')"
)
_WRONG_SUBDOMAIN: Final = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORMAT}')"
)
_WRONG_KEY: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_FORMAT}')"
)
_WRONG_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE_FORMAT}')"
)


def explain_name(name: str, name_format: NameFormat, *, is_prefix: bool = False) -> list[str]:
    """Return what is wrong with a name; a prefix for generated names may end with a dash."""
    if name_format is NameFormat.PATH_SEGMENT:
        return _explain_path_segment(name, is_prefix=is_prefix)
    if is_prefix and len(name) > 1 and name.endswith("-"):
        name = f"{name[:-2]}a"
    if name_format is NameFormat.LABEL and "." in name:
        return ["must not contain dots"]
    if name_format is NameFormat.LABEL:
        return _explain_dns(name, _LABEL, 63, _WRONG_LABEL)
    return _explain_dns(name, _SUBDOMAIN, 253, _WRONG_SUBDOMAIN)


@lru_cache(maxsize=4096)
def explain_label_key(key: str) -> tuple[str, ...]:
    """Return what is wrong with a label key, also called a qualified name: an optional domain, a slash, a name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (
            f"a valid label key {_WRONG_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems.extend(f"prefix part {problem}" for problem in explain_name(prefix, NameFormat.SUBDOMAIN))
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if _KEY.fullmatch(name) is None:
        problems.append(f"name part {_WRONG_KEY}")
    return tuple(problems)


def explain_label_value(value: str) -> list[str]:
    """Return what is wrong with a label value."""
    problems = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if _VALUE.fullmatch(value) is None:
        problems.append(_WRONG_VALUE)
    return problems


def _explain_dns(name: str, pattern: re.Pattern[str], limit: int, complaint: str) -> list[str]:
    problems = [f"must be no more than {limit} characters"] if len(name) > limit else []
    if pattern.fullmatch(name) is None:
        problems.append(complaint)
    return problems


def _explain_path_segment(name: str, *, is_prefix: bool) -> list[str]:
    if not is_prefix and name in {".", ".."}:
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in "/%" if sign in name]
