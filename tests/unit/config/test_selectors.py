"""Label selectors."""

from typing import Any

import pytest

from config.api.meta import SelectorError, matches_selector

LABELS = {"team": "a", "tier": "gold"}


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param(None, False, id="104: null matches nothing"),
        pytest.param({}, True, id="the empty selector matches everything"),
        pytest.param({"matchLabels": {"team": "a"}}, True, id="equal label"),
        pytest.param({"matchLabels": {"team": "b"}}, False, id="other value"),
        pytest.param({"matchLabels": {"none": "b"}}, False, id="absent label"),
        pytest.param({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}, True, id="in"),
        pytest.param({"matchExpressions": [{"key": "x", "operator": "In", "values": ["a"]}]}, False, id="in, absent"),
        pytest.param({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}, False, id="not in"),
        pytest.param(
            {"matchExpressions": [{"key": "x", "operator": "NotIn", "values": ["a"]}]}, True, id="not in, absent"
        ),
        pytest.param({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, True, id="exists"),
        pytest.param({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, False, id="does not exist"),
        pytest.param(
            {"matchLabels": {"team": "a"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]},
            False,
            id="both parts must hold",
        ),
    ],
)
def test_selector_matches(selector: dict[str, Any] | None, want: bool) -> None:
    assert matches_selector(selector, LABELS) is want


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "matchExpressions[0].values"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}, "matchExpressions[0].values"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "matchExpressions[0].key"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x y"]}]}, "matchExpressions[0].values[0]"),
        ({"matchLabels": {"a/b/c": "x"}}, "matchLabels"),
        ({"matchLabels": {"/c": "x"}}, "matchLabels"),
        ({"matchLabels": {"a" * 64: "x"}}, "matchLabels"),
        ({"matchLabels": {"a": "x" * 64}}, "matchLabels[a]"),
        ({"matchLabels": {"a": 5}}, "matchLabels[a]"),
    ],
)
def test_malformed_selector_is_refused_whatever_the_labels(selector: dict[str, Any], field: str) -> None:
    with pytest.raises(SelectorError) as caught:
        matches_selector(selector, {})
    assert str(caught.value).startswith(f"{field}: ")
