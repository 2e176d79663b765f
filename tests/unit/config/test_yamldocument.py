"""YAML is read strictly and in bounded space, and every value knows its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.reading.yaml_document import NotYamlError, read_yaml

BOMB = b"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + b"".join(
    b"%c: &%c [%s]\n" % (letter, letter, b", ".join([b"*%c" % (letter - 1)] * 10)) for letter in range(98, 110)
)

SCALARS: dict[str, tuple[str, object]] = {
    "a date stays a string": ("2024-01-01", "2024-01-01"),
    "base 60 is a string": ("1:30", "1:30"),
    "yes is a string": ("yes", "yes"),
    "no is a string": ("no", "no"),
    "true is a switch": ("true", True),
    "a quoted true is a string": ('"true"', "true"),
    "an integer": ("-12", -12),
    "hexadecimal": ("0x10", 16),
    "octal": ("0o17", 15),
    "a leading zero is decimal": ("010", 10),
    "a float": ("1.5e3", 1500.0),
    "tilde is null": ("~", None),
    "nothing is null": ("", None),
    "a number too large for any field is a string or a float, not a crash": ("9" * 400, float("inf")),
}


@pytest.mark.parametrize("case", SCALARS)
def test_scalars(case: str) -> None:
    text, want = SCALARS[case]
    assert read_yaml(f"a: {text}\n".encode()).tree == {"a": want}


def test_lines() -> None:
    document = read_yaml(b"# comment\na: 1\nb:\n- x\n- c: 2\n  d:\n    - 3\n")
    assert document.tree == {"a": 1, "b": ["x", {"c": 2, "d": [3]}]}
    places = {("a",): 2, ("b",): 3, ("b", 0): 4, ("b", 1): 5, ("b", 1, "d"): 6, ("b", 1, "d", 0): 7}
    assert {place: document.lines[place] for place in places} == places
    assert document.line_of(("b", 1, "missing")) == 5


REFUSED: dict[str, tuple[bytes, int, str]] = {
    "broken flow": (b"a: [1, 2\nb: 3", 2, "is not YAML"),
    "a tab as indentation": (b"a:\n\t- x", 2, "is not YAML"),
    "an unknown alias": (b"a: *nope", 1, "undefined alias"),
    "not UTF-8": (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
    "a control character": (b"a: 1\nb: \x00\n", 2, "control character"),
    "two documents": (b"a: 1\n---\nb: 1\n", 2, "several YAML documents"),
    "a tag": (b"a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "tags are not allowed"),
    "a harmless tag": (b"a: !!str 1\n", 1, "tags are not allowed"),
    "deep nesting": (b"[" * 100_000, 1, "nested deeper"),
    "an alias of itself": (b"a: &x [*x]\n", 1, "nested deeper"),
    "an alias bomb": (BOMB, 1, "more than 100000 values"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    raw, line, message = REFUSED[case]
    with pytest.raises(NotYamlError) as caught:
        read_yaml(raw)
    assert caught.value.problem.line == line
    assert message in caught.value.problem.message


def test_duplicate_and_odd_keys_are_reported_and_the_first_value_stays() -> None:
    document = read_yaml(b"a: 1\nb: 2\na: 3\n7: x\n")
    assert document.tree == {"a": 1, "b": 2}
    assert [(problem.line, problem.path) for problem in document.problems] == [(3, ("a",)), (4, ())]
    assert document.problems[0].message == "is given twice (first on line 1)"


@pytest.mark.parametrize("raw", [b"", b"# only a comment\n", b"---\n", b"\xef\xbb\xbf"])
def test_an_empty_document_is_null(raw: bytes) -> None:
    assert read_yaml(raw).tree is None


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        read_yaml(raw)
    except NotYamlError as error:
        assert error.problem.line >= 1  # noqa: PT017 - both outcomes are right; only another exception is not


def test_S4_reading_stops_at_the_limit_of_values() -> None:
    mistake_after_the_limit = b"a: [" + b"1, " * 200 + b"}"
    with pytest.raises(NotYamlError, match="holds more than 100 values"):
        read_yaml(mistake_after_the_limit, 100)
    with pytest.raises(NotYamlError, match="is not YAML"):
        read_yaml(mistake_after_the_limit, 1000)
