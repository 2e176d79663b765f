"""An object that a projection cannot read is kept as such, whatever the projection stumbles over."""

import pytest

from tests.clusters import CONFIG_MAPS
from workerclient.cache import Unreadable
from workerclient.codec import Identity, Raw
from workerclient.kind import Key
from workerclient.watched import WatchedKind

IDENTITY = Identity(Key("default", "a"), "u", "1")
WATCHED: WatchedKind[object] = WatchedKind(CONFIG_MAPS, lambda raw: int(raw["spec"]["count"]) // raw["spec"]["per"])

SHAPES: dict[str, tuple[Raw, str]] = {
    "a list where an object belongs": ({"spec": []}, "it has an unforeseen shape: TypeError: list indices must be"),
    "a field that is missing": ({"spec": {}}, "it has an unforeseen shape: KeyError: 'count'"),
    "a text that is no number": ({"spec": {"count": "x\n"}}, "invalid literal for int"),
    "a zero": ({"spec": {"count": 1, "per": 0}}, "it has an unforeseen shape: ZeroDivisionError"),
}


@pytest.mark.parametrize(("raw", "want"), SHAPES.values(), ids=SHAPES.keys())
def test_no_shape_of_an_object_ends_more_than_its_own_reading(raw: Raw, want: str) -> None:
    kept = WATCHED.read(IDENTITY, raw)
    assert isinstance(kept, Unreadable)
    assert kept.identity == IDENTITY
    assert kept.problem.startswith(want)
    assert kept.problem.isprintable()


def test_a_readable_object_is_projected() -> None:
    assert WATCHED.read(IDENTITY, {"spec": {"count": "6", "per": 2}}) == 3
