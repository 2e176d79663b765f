"""Both wire forms of a topology assignment, and what is wrong with those that cannot be read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.topology.wire import MAX_DOMAINS, decode, encode
from engine.vocabulary.errors import FieldError
from engine.vocabulary.topology import HOSTNAME, PlacedPods, TopologyAssignment

PATH = "topologyAssignment"
INDIVIDUAL = {"individual": {"prefix": "n-", "roots": ["a", "b", "c"]}}


def on_hosts(*hosts: str, pods: int = 1) -> TopologyAssignment:
    return TopologyAssignment((HOSTNAME,), tuple(PlacedPods((host,), pods) for host in hosts))


def packed(**changes: Any) -> dict[str, Any]:
    placed = {"domainCount": 3, "valuesPerLevel": [INDIVIDUAL], "podCounts": {"individual": [1, 2, 1]}}
    return {"levels": [HOSTNAME], "slices": [placed | changes]}


def test_102_a_slice_with_a_prefix() -> None:
    assert [tuple(each) for each in decode(packed(), PATH).domains] == [(("n-a",), 1), (("n-b",), 2), (("n-c",), 1)]


def test_102_the_list_of_v1beta1() -> None:
    raw = {"levels": ["block", "rack"], "domains": [{"values": ["b", "r"], "count": 4}]}
    assert decode(raw, PATH) == TopologyAssignment(("block", "rack"), (PlacedPods(("b", "r"), 4),))


def test_103_runs_of_equal_prefixes_are_slices_unless_one_slice_is_shorter() -> None:
    short = encode(on_hosts("pool-a-1", "pool-a-2", "pool-b-1", "pool-b-2"))
    assert [each["domainCount"] for each in short["slices"]] == [4]
    hosts = [f"pool-{pool * 12}-{host}" for pool in "ab" for host in range(40)]
    runs = encode(on_hosts(*hosts))
    assert [each["domainCount"] for each in runs["slices"]] == [40, 40]
    assert len(encode(on_hosts(*hosts), by_hostname_prefix=False)["slices"]) == 1


def test_104_a_suffix_goes_before_a_prefix_that_would_overlap() -> None:
    placed = encode(on_hosts("ababa", "aba"))["slices"][0]
    assert placed["valuesPerLevel"] == [{"individual": {"suffix": "aba", "roots": ["ab", ""]}}]


names = st.text(st.sampled_from("ab-0"), min_size=1, max_size=8)


@given(
    st.lists(st.tuples(names, names), min_size=1, max_size=30, unique=True),
    st.lists(st.integers(1, 3), min_size=30, max_size=30),
    st.booleans(),
)
def test_what_is_encoded_is_decoded(values: list[tuple[str, str]], pods: list[int], by_prefix: bool) -> None:
    domains = tuple(PlacedPods(row, count) for row, count in zip(values, pods, strict=False))
    assignment = TopologyAssignment(("rack", HOSTNAME), domains)
    assert decode(encode(assignment, by_hostname_prefix=by_prefix), PATH) == assignment


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ({"levels": [], "slices": []}, "levels: must be a list of at least one label"),
        ({"levels": "x"}, "levels: must be a list of at least one label"),
        (packed(domainCount=-1), "slices[0].domainCount: -1 is not allowed: must be a whole number from 0"),
        (packed(domainCount=True), "slices[0].domainCount: True is not allowed"),
        (packed(domainCount=10**6), f"slices[0].domainCount: 1000000 domains are not allowed: at most {MAX_DOMAINS}"),
        (packed(domainCount=2), "slices[0].valuesPerLevel[0].individual.roots: has 3 entries for 2 domains"),
        (packed(valuesPerLevel=[]), "slices[0].valuesPerLevel: has 0 entries for 1 levels"),
        (packed(valuesPerLevel=[{}]), "slices[0].valuesPerLevel[0]: must have exactly one of universal (text) and"),
        (packed(valuesPerLevel=["x"]), "slices[0].valuesPerLevel[0]: must have universal or individual"),
        (
            packed(valuesPerLevel=[{"individual": {"prefix": 1, "roots": ["a", "b", "c"]}}]),
            "slices[0].valuesPerLevel[0].individual.prefix: 1 is not allowed: must be text",
        ),
        (packed(podCounts={}), "slices[0].podCounts: must have exactly one of universal and individual"),
        (packed(podCounts=None), "slices[0].podCounts: must have universal or individual"),
        (packed(podCounts={"individual": [1]}), "slices[0].podCounts.individual: has 1 entries for 3 domains"),
        (packed(podCounts={"individual": [1, -2, 1]}), "slices[0].podCounts.individual[1]: -2 is not allowed"),
        (packed(podCounts={"universal": 2**31}), "slices[0].podCounts.universal: 2147483648 is not allowed"),
        ({"levels": ["h"], "slices": ["x"]}, "slices[0]: must be a slice with domainCount, valuesPerLevel and"),
        ({"levels": ["h"], "domains": {}}, "domains: must be a list"),
        ({"levels": ["h"], "domains": ["x"]}, "domains[0]: must be a domain with values and a count"),
        ({"levels": ["h"], "domains": [{"values": [1], "count": 1}]}, "domains[0].values: must be a list of texts"),
        ({"levels": ["h"], "domains": [{"values": [], "count": 1}]}, "domains[0].values: has 0 values for 1 levels"),
        ({"levels": ["h"], "domains": [{}] * (MAX_DOMAINS + 1)}, "domains: 100001 domains are not allowed"),
    ],
)
def test_what_cannot_be_read_names_the_field(raw: dict[str, Any], error: str) -> None:
    with pytest.raises(FieldError) as raised:
        decode(raw, PATH)
    assert str(raised.value).startswith(f"{PATH}.{error}")
