"""Objects of a worker with values that no field should have."""

import copy
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from config.names import MULTIKUEUE_NAME
from tests.property.odd_objects import odd_values, paths

Obj = dict[str, Any]


EXTREMES: st.SearchStrategy[Any] = st.sampled_from(
    [
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59Z",
        "9999-12-31T23:59:59-23:59",
        "2026-02-30T00:00:00Z",
        "2027-01-15T07:50:00." + "0" * 80 + "Z",
        "Open",
        "",
        " ",
        "\u0000",
        MULTIKUEUE_NAME,
        1 << 31,
        (1 << 63) - 1,
        1 << 63,
        (1 << 64) - 1,
        -1,
        0.5,
        1e300,
        True,
        None,
        [],
        {},
        [None],
        [[]],
        [{}],
        {"": None},
    ]
)


ANY = odd_values | EXTREMES


ANY_OBJECT = st.dictionaries(
    st.sampled_from(["metadata", "spec", "status", "kind", ""]),
    st.dictionaries(
        st.sampled_from(
            [
                "name",
                "uid",
                "resourceVersion",
                "namespace",
                "labels",
                "annotations",
                "conditions",
                "preemptionGates",
                "podSets",
                "workerGroupSpecs",
                "admission",
                "ownerReferences",
                "suspend",
                "replicas",
            ]
        ),
        ANY,
        max_size=6,
    )
    | ANY,
    max_size=4,
)


@st.composite
def mutated(draw: st.DrawFn, whole: Obj) -> Obj:
    """Return a copy with one to four places replaced, removed, doubled or emptied."""
    raw = copy.deepcopy(whole)
    for path in draw(st.lists(st.sampled_from(paths(whole)), min_size=1, max_size=4)):
        with suppress(KeyError, IndexError, TypeError, ValueError):  # an earlier mutation may have cut the path
            target: Any = raw
            for step in path[:-1]:
                target = target[step]
            match draw(st.sampled_from(["replace", "replace", "remove", "double", "swap"])):
                case "replace":
                    target[path[-1]] = draw(ANY)
                case "remove":
                    del target[path[-1]]
                case "double" if isinstance(target, list):
                    target.append(copy.deepcopy(target[int(path[-1])]))
                case "swap":
                    other: Any = whole
                    for place in draw(st.sampled_from(paths(whole))):
                        other = other[place]
                    target[path[-1]] = copy.deepcopy(other)
    return raw
