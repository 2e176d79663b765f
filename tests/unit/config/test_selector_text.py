"""Label selectors as text: what `kubectl -l` takes is taken, anything else is refused in words."""

from typing import Any

import pytest

from config.api.selector_text import parse_selector
from config.api.selectors import SelectorError, matches_selector

GOLD = {"tier": "gold", "gpu": "h100", "example.com/site": "east"}

MATCHING: dict[str, bool] = {
    "tier=gold": True,
    "tier==gold": True,
    " tier = gold ": True,
    "tier!=gold": False,
    "tier=silver": False,
    "tier": True,
    "spot": False,
    "!spot": True,
    "! tier": False,
    "gpu in (a100,h100)": True,
    "gpu in ( a100 )": False,
    "gpu notin (a100)": True,
    "tier=gold,gpu in (a100,h100),!spot": True,
    "tier=gold,gpu in (a100)": False,
    "example.com/site=east": True,
    "owner=": False,
    "owner!=": True,
    "in in (in)": False,
}


@pytest.mark.parametrize(("text", "want"), MATCHING.items(), ids=MATCHING)
def test_a_selector_matches_as_in_kubernetes(text: str, want: bool) -> None:
    assert matches_selector(parse_selector(text), GOLD) is want


REFUSED = {
    "nothing": ("", "empty"),
    "blanks": ("  ", "empty"),
    "a comma at the end": ("tier=gold,", "is not a term"),
    "two commas": ("tier=gold,,gpu", "is not a term"),
    "an operator of its own": ("tier~gold", "label key"),
    "a set that is not closed": ("gpu in (a100", "is not a term"),
    "a set without values": ("gpu in ()", None),
    "a set without its operator": ("gpu (a100)", "is not a term"),
    "a key that is none": ("-tier=gold", "label key"),
    "a value that is none": ("tier=-gold", "label value"),
    "JSON": ('{"matchLabels": {}}', "is not a term"),
    "too long": ("a" * 5000, "characters"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_selector_is_refused(text: str, said: Any) -> None:
    if said is None:  # an empty value is a value, as in Kubernetes
        assert not matches_selector(parse_selector(text), GOLD)
        return
    with pytest.raises(SelectorError, match=said):
        parse_selector(text)
