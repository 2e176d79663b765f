"""From a file and the environment to a frozen configuration, or to the list of everything that is wrong with them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from config import names
from config.loading.cautions import cautions
from config.loading.deprecations import deprecations
from config.loading.environment import Environment, read_environment
from config.loading.shape import FieldShape, fields_of, walk
from config.reading.files import UnreadableFileError, read_bounded
from config.reading.problems import ConfigurationError, Problem, dotted, kind_of, shown
from config.reading.yaml_document import NotYamlError, Place, YamlDocument, read_yaml
from config.sections.settings import Configuration
from config.types import syntax
from config.types.field_types import REFUSED

MAX_FILE_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """A valid configuration, and what its owner should know about it."""

    configuration: Configuration
    warnings: tuple[Problem, ...]


def load_configuration(path: Path, environ: Mapping[str, str]) -> Loaded:
    """Read and validate the file with the environment's overrides; ConfigurationError holds every mistake."""
    try:
        raw = read_bounded(path, MAX_FILE_SIZE)
    except UnreadableFileError as error:
        raise ConfigurationError([Problem(str(error), file=syntax.printable(str(path)))]) from error
    return parse_configuration(raw, str(path), environ)


def parse_configuration(raw: bytes, file: str, environ: Mapping[str, str]) -> Loaded:
    """Validate a file's content; `file` is only its name in messages."""
    shown_file = syntax.printable(file)
    try:
        document = read_yaml(raw)
    except NotYamlError as error:
        raise ConfigurationError([Problem(error.problem.message, file=shown_file, line=error.problem.line)]) from error
    return _Load(shown_file, document, read_environment(environ)).run()


@dataclass(slots=True)
class _Load:
    """One attempt: collects mistakes of all kinds, in the order in which the user meets them in the file."""

    file: str
    document: YamlDocument
    environment: Environment
    problems: list[Problem] = field(default_factory=list)

    def run(self) -> Loaded:
        if not isinstance(self.document.tree, dict):
            what = "is empty" if self.document.tree is None else f"holds {kind_of(self.document.tree)}"
            expected = f"a mapping with apiVersion: {names.CONFIG_API_VERSION} and kind: {names.CONFIG_KIND}"
            raise ConfigurationError([Problem(f"{what}: expected {expected}", file=self.file)])
        for problem in self.document.problems:
            self.problems.append(Problem(problem.message, dotted(problem.path), self.file, problem.line))
        for refused in self.environment.problems:
            self.problems.append(Problem(refused.message, variable=refused.variable))
        configuration = self._validated()
        if configuration is None or self.problems:
            raise ConfigurationError(sorted(self.problems, key=lambda problem: (problem.variable, problem.line or 0)))
        return Loaded(configuration, tuple(self._warnings(configuration)))

    def _warnings(self, configuration: Configuration) -> Iterator[Problem]:
        found = (*cautions(configuration), *deprecations(configuration))
        return (self._problem(_in_file_names(path), message) for path, message in found)

    def _validated(self) -> Configuration | None:
        document = self._in_field_names(self.document.tree, Configuration, ())
        overrides = self._in_field_names(self.environment.tree, Configuration, ())
        try:
            return Configuration.layered(overrides=overrides, document=document)
        except ValidationError as error:
            self.problems += map(self._refusal, error.errors())
            return None

    def _in_field_names(self, tree: Any, section: type[BaseModel], place: Place) -> Any:
        """Return the tree with Python's names; fields that do not exist are reported and left out."""
        if not isinstance(tree, dict):
            return tree
        known = fields_of(section)
        renamed: dict[str, Any] = {}
        for name, value in tree.items():
            shape = known.get(name)
            if shape is None:
                self.problems.append(self._problem((*place, name), _unknown_field(name, known)))
            elif value is None and (shape.section or shape.repeated):
                continue  # `workers:` with nothing under it is an absent section, as in Kubernetes
            else:
                renamed[shape.name] = self._value_in_field_names(value, shape, (*place, name))
        return renamed

    def _value_in_field_names(self, value: Any, shape: FieldShape, place: Place) -> Any:
        if shape.section is None:
            return value
        if shape.repeated and isinstance(value, list):
            return [self._in_field_names(item, shape.section, (*place, index)) for index, item in enumerate(value)]
        return self._in_field_names(value, shape.section, place)

    def _refusal(self, error: Any) -> Problem:
        context = error.get("ctx", {})
        place = (*_in_file_names(error["loc"]), *([context["at"]] if "at" in context else []))
        if error["type"] == "missing":
            return self._problem(place, f"is required: {_words_at(error['loc'])}")
        if error["type"] != REFUSED:
            return self._problem(place, f"{kind_of(error['input'])} is not allowed: {_words_at(error['loc'])}")
        value, allowed = context.get("value", error["input"]), context["allowed"]
        if "also_at" in context:
            other = self._problem(_in_file_names(context["also_at"]), "")
            allowed = f"{allowed} ({other.field} is the same{f', line {other.line}' if other.line else ''})"
        if value is None:
            return self._problem(place, f"is required: {allowed}")
        return self._problem(place, f"{shown(value)} is not allowed: {allowed}")

    def _problem(self, place: Place, message: str) -> Problem:
        for length in range(len(place), 0, -1):
            if variable := self.environment.variables.get(place[:length]):
                return Problem(message, dotted(place), variable=variable)
        return Problem(message, dotted(place), self.file, self.document.line_of(place))


def _in_file_names(path: Place) -> Place:
    return tuple(to_camel(part) if isinstance(part, str) else part for part in path)


def did_you_mean(field: str) -> str:
    """Say that a field is unknown, and which one was probably meant."""
    return f'unknown field; did you mean "{field}"?'


def _unknown_field(name: str, known: Mapping[str, FieldShape]) -> str:
    if meant := syntax.closest(name, known):
        return did_you_mean(meant)
    if elsewhere := next(_places_named(name), None):
        return did_you_mean(elsewhere)
    return f"unknown field: allowed here are {', '.join(known)}"


def _places_named(name: str) -> Iterator[str]:
    return (path for path, shape in walk(Configuration) if shape.file_name == name)


def _words_at(path: Place) -> str:
    section: type[BaseModel] | None = Configuration
    words = ""
    for part in path:
        if isinstance(part, int):
            words = f"a mapping with {', '.join(fields_of(section))}"
        elif shape := fields_of(section).get(to_camel(part)):
            words, section = shape.words, shape.section
    return words
