"""An object that a projection cannot read is kept as such, whatever the projection stumbles over."""

import pytest

from config.api.meta import Obj, ObjectKey
from tests.support.clusters import CONFIG_MAPS
from workerclient.objects.cache import Unreadable
from workerclient.objects.watched import WatchedKind
from workerclient.wire.codec import Identity

IDENTITY = Identity(ObjectKey("default", "a"), "u", "1")
WATCHED: WatchedKind[object] = WatchedKind(CONFIG_MAPS, lambda raw: int(raw["spec"]["count"]) // raw["spec"]["per"])

SHAPES: dict[str, tuple[Obj, str]] = {
    "a list where an object belongs": ({"spec": []}, "it has an unexpected structure: TypeError: list indices must be"),
    "a field that is missing": ({"spec": {}}, "it has an unexpected structure: KeyError: 'count'"),
    "a string that is no number": ({"spec": {"count": "x\n"}}, "invalid literal for int"),
    "a zero": ({"spec": {"count": 1, "per": 0}}, "it has an unexpected structure: ZeroDivisionError"),
}


@pytest.mark.parametrize(("raw", "want"), SHAPES.values(), ids=SHAPES.keys())
def test_no_shape_of_an_object_ends_more_than_its_own_reading(raw: Obj, want: str) -> None:
    kept = WATCHED.read(IDENTITY, raw)
    assert isinstance(kept, Unreadable)
    assert kept.identity == IDENTITY
    assert kept.problem.startswith(want)
    assert kept.problem.isprintable()


def test_a_readable_object_is_projected() -> None:
    assert WATCHED.read(IDENTITY, {"spec": {"count": "6", "per": 2}}) == 3


def test_F12_an_object_of_too_many_values_is_not_projected_whatever_came_with_it() -> None:
    read: list[Obj] = []

    def note(raw: Obj) -> int:
        read.append(raw)
        return len(read)

    watched = WatchedKind(CONFIG_MAPS, note, most_values=100)
    dense: Obj = {"metadata": {}, "spec": {"x": [[] for _ in range(60)]}}
    managed: Obj = {"metadata": {"managedFields": [{} for _ in range(60)]}}
    kept = watched.read(IDENTITY, dense, 1000)
    assert isinstance(kept, Unreadable)
    assert kept.problem == "it holds more than 100 values"
    assert isinstance(watched.read(IDENTITY, dense), Unreadable)
    assert watched.read(IDENTITY, managed, 1000) == 1
    assert watched.read(IDENTITY, {"metadata": {}}, 1000) == 2
