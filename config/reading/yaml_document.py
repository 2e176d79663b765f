"""One YAML document as plain values that remember their lines.

YAML is read as version 1.2's core schema (what JSON knows, and `no` is a string), because that leaves no surprises.
What makes YAML dangerous is bounded or refused: tags, duplicate keys, several documents, deep nesting, alias bombs.
Invariant: the tree holds only dict, list, str, int, float, bool and None, and every place in it has a line.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from yaml.composer import Composer
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

Place = tuple[str | int, ...]
"""A place in the tree: ("workers", 2, "name")."""

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 100_000

_TAG: Final = "tag:yaml.org,2002:"
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """What is wrong, at which line, and (when the tree goes that far) at which place."""

    line: int
    message: str
    path: Place = ()


class NotYamlError(ValueError):
    """The text is not one readable YAML document, so that there is nothing to check further."""

    def __init__(self, problem: YamlProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The values, the line (from 1) of each, and what was refused on the way."""

    tree: object
    lines: Mapping[Place, int]
    problems: tuple[YamlProblem, ...]

    def line_of(self, path: Place) -> int:
        """Return the line of the place, or of the nearest place around it that exists."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read_yaml(raw: bytes, max_values: int = MAX_VALUES) -> YamlDocument:
    """Parse one document; NotYamlError when there is none to parse, or when it holds too many values.

    Values are counted while they are read, so that a document beyond the limit costs no more than one at the limit.
    """
    node = _compose(_decode(raw), max_values)
    if node is None:
        return YamlDocument(None, {(): 1}, ())
    builder = _Builder(max_values)
    tree = builder.build(node, ())
    return YamlDocument(tree, builder.lines, tuple(builder.problems))


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotYamlError(YamlProblem(line, f"is not UTF-8 text (byte {error.start})")) from error


def _compose(text: str, max_values: int) -> Node | None:
    try:
        return _Loader(text, max_values).get_single_node()
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise NotYamlError(YamlProblem(line, "holds a control character that YAML does not allow")) from error
    except MarkedYAMLError as error:
        raise NotYamlError(_syntax_problem(error)) from error


def _syntax_problem(error: MarkedYAMLError) -> YamlProblem:
    mark = error.problem_mark or error.context_mark
    if error.context == "expected a single document in the stream" and mark:
        return YamlProblem(mark.line + 1, "holds several YAML documents: one is allowed")
    what = " ".join(part for part in (error.context, error.problem) if part)
    if mark is None:
        return YamlProblem(1, f"is not YAML: {what}")
    return YamlProblem(mark.line + 1, f"is not YAML: {what} (column {mark.column + 1})")


class _CoreResolver(BaseResolver):
    """Untagged scalars become what YAML 1.2's core schema says."""


_CoreResolver.add_implicit_resolver(f"{_TAG}null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_CoreResolver.add_implicit_resolver(f"{_TAG}bool", re.compile(f"^(?:{'|'.join(_BOOLEANS)})$"), list("tTfF"))
_CoreResolver.add_implicit_resolver(
    f"{_TAG}int", re.compile(r"^(?:[-+]?[0-9]{1,19}|0o[0-7]{1,21}|0x[0-9a-fA-F]{1,16})$"), list("-+0123456789")
)
_CoreResolver.add_implicit_resolver(
    f"{_TAG}float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?$"),
    list("-+.0123456789"),
)


class _Loader(Reader, Scanner, Parser, Composer, _CoreResolver):
    """PyYAML's reader up to nodes, without tags and with bounds on nesting (its composer recurses) and on values.

    The reader in Python, although there is one in C: a thread that parses lets others run in between, and it says
    where a mistake is in the same words on every machine.
    """

    def __init__(self, text: str, max_values: int) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _CoreResolver.__init__(self)
        self._depth = 0
        self._values = 0
        self._max_values = max_values

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self._depth += 1
        self._values += 1
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if self._depth > MAX_DEPTH:
            raise _too_deep(event.start_mark)
        if self._values > self._max_values:
            raise _too_many(event.start_mark, self._max_values)
        if getattr(event, "tag", None) is not None:
            raise NotYamlError(YamlProblem(event.start_mark.line + 1, "has a YAML tag (!...): tags are not allowed"))
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _too_deep(mark: Mark) -> NotYamlError:
    return NotYamlError(YamlProblem(mark.line + 1, f"is nested deeper than {MAX_DEPTH} levels"))


def _too_many(mark: Mark, max_values: int) -> NotYamlError:
    return NotYamlError(YamlProblem(mark.line + 1, f"holds more than {max_values} values"))


@dataclass(slots=True)
class _Builder:
    max_values: int
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[YamlProblem] = field(default_factory=list)
    nodes: int = 0

    def build(self, node: Node, path: Place) -> object:
        self._count(node, path)
        self.lines.setdefault(path, node.start_mark.line + 1)
        match node:
            case MappingNode():
                return self._mapping(node, path)
            case SequenceNode():
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            case _:
                return _scalar(node)

    def _count(self, node: Node, path: Place) -> None:
        # An alias leads to the same node again: counting visits, not nodes, is what defuses a bomb; depth ends a cycle.
        self.nodes += 1
        if self.nodes > self.max_values:
            raise _too_many(node.start_mark, self.max_values)
        if len(path) > MAX_DEPTH:
            raise _too_deep(node.start_mark)

    def _mapping(self, node: MappingNode, path: Place) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not (isinstance(key_node, ScalarNode) and key_node.tag == f"{_TAG}str"):
                self.problems.append(YamlProblem(line, "has a key that is not a string: write it in quotes", path))
                continue
            key = key_node.value
            if key in values:
                first = self.lines[*path, key]
                self.problems.append(YamlProblem(line, f"is given twice (first on line {first})", (*path, key)))
                continue
            self.lines[*path, key] = line
            values[key] = self.build(value_node, (*path, key))
        return values


def _scalar(node: Node) -> object:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return _BOOLEANS[text]
        case "int":
            return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
        case "float":
            return float(text)
        case _:
            return text
