"""Label and field selectors."""

import pytest

from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.api_errors import ApiError
from localcluster.store.selectors import Selector, parse_fields, parse_labels
from tests.unit.localcluster.serving import WIDGET


@pytest.mark.parametrize(
    ("selector", "labels", "want"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b, c)", {}, False),
        ("a notin (b,c)", {}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a=", {"a": ""}, True),
        ("a>3", {"a": "4"}, True),
        ("a<3", {"a": "x"}, False),
        ("a=b,c!=d,!e", {"a": "b"}, True),
        ("example.dev/a in (b),c", {"example.dev/a": "b", "c": "1"}, True),
        ("a=b,c=d", {"a": "b"}, False),
    ],
)
def test_label_selectors(selector: str, labels: dict[str, str], want: bool) -> None:
    assert Selector(parse_labels(selector)).matches({"metadata": {"labels": labels}}) is want


@pytest.mark.parametrize(
    ("selector", "want_message"),
    [
        ("a===b", "found '=', expected: identifier"),
        ("a in", "found '' expected: '('"),
        ("a in (b", "found '', expected: ',' or ')'"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a,", "found '', expected: identifier after ','"),
        ("=b", "found '=', expected: !, identifier, or 'end of string'"),
        ("A/B/C", 'Invalid value: "A/B/C"'),
        ("a=-", 'Invalid value: "-"'),
        ("a>b", "the value must be an integer"),
    ],
)
def test_a_label_selector_that_is_malformed_is_refused(selector: str, want_message: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_labels(selector)
    assert refused.value.code == 400
    assert want_message in refused.value.message


def test_field_selectors_of_every_kind() -> None:
    obj = {"metadata": {"name": "a", "namespace": "n"}}

    def matches(text: str) -> bool:
        return Selector(fields=parse_fields(WIDGET, text)).matches(obj)

    assert matches("metadata.name=a,metadata.namespace==n")
    assert not matches("metadata.name!=a")


@pytest.mark.parametrize(
    ("resource", "want_message"),
    [
        ("workloads", "field label not supported: spec.colour"),
        ("secrets", "field label not supported: spec.colour"),
        ("jobs", 'field label "spec.colour" not supported for Job'),
        ("priorityclasses", '"spec.colour" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    ],
)
def test_a_field_that_cannot_be_selected_is_refused(resource: str, want_message: str) -> None:
    kind = next(kind for kind in all_kinds() if kind.plural == resource)

    with pytest.raises(ApiError) as refused:
        parse_fields(kind, "spec.colour=red")
    assert (refused.value.code, refused.value.message) == (400, want_message)


def test_a_field_selector_without_a_sign_is_refused() -> None:
    with pytest.raises(ApiError, match="invalid selector: 'xx'; can't understand 'xx'"):
        parse_fields(WIDGET, "xx")
