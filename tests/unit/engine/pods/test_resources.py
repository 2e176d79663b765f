"""What a pod takes of a node, and whether it fits."""

from typing import Any

import pytest

from engine.pods.reading.read_nodes import read_node
from engine.pods.values.load import HOST_PORTS, NodeLoad
from engine.pods.values.resources import ResourceNames, read_footprint
from engine.pods.values.values import Footprint, HostPort
from tests.support.builders import Json
from tests.support.pod_builders import node, pod

MIB = 1024**2
EVERY = "0.0.0.0"  # noqa: S104 - a value to compare, nothing listens


def container(name: str = "c", **fields: Any) -> Json:
    requests = {key: value for key, value in fields.items() if key in ("cpu", "memory")}
    return {"name": name, "resources": {"requests": requests}}


def footprint(raw: Json) -> tuple[dict[str, int], int, int]:
    names = ResourceNames()
    read = read_footprint(raw, names)
    return {names.names[index]: amount for index, amount in read.requests}, read.scored_cpu, read.scored_memory


SIDECAR = {**container("s", cpu=2), "restartPolicy": "Always"}
CASES: dict[str, tuple[Json, tuple[dict[str, int], int, int]]] = {
    "nothing asked still scores a little": (pod("p"), ({}, 100, 200 * MIB)),
    "an explicit zero scores nothing": (
        pod("p", requests={"cpu": 0, "memory": 0}),
        ({}, 0, 0),
    ),
    "limits replace missing requests": (
        pod("p", spec={"containers": [{"name": "c", "resources": {"limits": {"cpu": 2}}}]}),
        ({"cpu": 2000}, 2000, 200 * MIB),
    ),
    "containers add up, exactly": (
        pod("p", spec={"containers": [container(cpu="0.5m"), container("d", cpu="0.5m")]}),
        ({"cpu": 1}, 1, 400 * MIB),
    ),
    "sidecars run beside containers": (
        pod("p", spec={"containers": [container(cpu=1)], "initContainers": [SIDECAR]}),
        ({"cpu": 3000}, 3000, 400 * MIB),
    ),
    "overhead is added": (
        pod("p", 1, spec={"overhead": {"cpu": "250m"}}),
        ({"cpu": 1250}, 1250, 200 * MIB),
    ),
    "the pod's own block overrides": (
        pod("p", 1, spec={"resources": {"requests": {"cpu": 3}}}),
        ({"cpu": 3000}, 3000, 200 * MIB),
    ),
    "beside the pod's own block a container scores a little only in what is not requested": (
        pod("p", spec={"containers": [container(memory="1Gi"), container("d")], "resources": {"requests": {"cpu": 3}}}),
        ({"cpu": 3000, "memory": 1024 * MIB}, 3000, 1024 * MIB),
    ),
    "names that are no resources are not counted": (
        pod("p", requests={"pods": 3, "smiles": 2, "example.com/gpu": 1}),
        ({"example.com/gpu": 1}, 100, 200 * MIB),
    ),
    "a shrinking container holds what it has until it is resized": (
        pod(
            "p",
            1,
            on="n1",
            status={
                "containerStatuses": [
                    {
                        "name": "c",
                        "resources": {"requests": {"cpu": 2, "memory": "1Gi"}},
                        "allocatedResources": {"cpu": 3},
                    },
                    {"name": "x"},
                ]
            },
        ),
        ({"cpu": 3000, "memory": 1024 * MIB}, 3000, 1024 * MIB),
    ),
}


@pytest.mark.parametrize(("raw", "want"), CASES.values(), ids=CASES)
def test_requests(raw: Json, want: tuple[dict[str, int], int, int]) -> None:
    assert footprint(raw) == want


def with_ports(*ports: Json) -> Json:
    return pod("p", spec={"containers": [{"name": "c", "ports": list(ports)}]})


def test_a_pod_that_looks_for_a_node_is_scored_by_its_containers_alone() -> None:
    names = ResourceNames()
    assert read_footprint(pod("p", 1, spec={"resources": {"requests": {"cpu": 3}}}), names).arriving == (
        1000,
        200 * MIB,
    )
    assert read_footprint(pod("p", 1), names).arriving is None


def test_host_ports_are_read() -> None:
    raw = with_ports({"hostPort": 80}, {"containerPort": 1}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"})
    assert read_footprint(raw, ResourceNames()).ports == (
        HostPort(EVERY, "TCP", 80),
        HostPort("10.0.0.1", "UDP", 53),
    )


PORTS = {
    "the same": ((EVERY, "TCP", 80), (EVERY, "TCP", 80), True),
    "another number": ((EVERY, "TCP", 80), (EVERY, "TCP", 81), False),
    "another protocol": ((EVERY, "TCP", 80), (EVERY, "UDP", 80), False),
    "every address and one": ((EVERY, "TCP", 80), ("10.0.0.1", "TCP", 80), True),
    "one address and every": (("10.0.0.1", "TCP", 80), (EVERY, "TCP", 80), True),
    "two addresses": (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
}


@pytest.mark.parametrize(("wanted", "taken", "is_conflict"), PORTS.values(), ids=PORTS)
def test_host_ports_conflict(wanted: tuple[str, str, int], taken: tuple[str, str, int], *, is_conflict: bool) -> None:
    load, place = NodeLoad(), read_node(node("n1"), ResourceNames())
    asking = Footprint((), 0, 0, (HostPort(*wanted),))
    load.add(Footprint((), 0, 0, (HostPort(*taken),)))
    assert load.fits(place, asking) is not is_conflict
    assert load.how_many_fit(place, asking) == (0 if is_conflict else 1)
    assert [shortage.resource for shortage in load.shortages(place, asking, [])] == [HOST_PORTS] * is_conflict


def test_shortages_are_told_in_quantities() -> None:
    names = ResourceNames()
    place = read_node(node("n1", 4, pods=1, memory="1Gi"), names)
    load = NodeLoad()
    load.add(read_footprint(pod("a", 3), names))
    asking = read_footprint(pod("p", 2, requests={"memory": "2Gi", "example.com/gpu": 1}), names)
    assert [str(shortage) for shortage in load.shortages(place, asking, names.names)] == [
        "pods: needs 1, 0 free",
        "cpu: needs 2, 1 free",
        "memory: needs 2Gi, 1Gi free",
        "example.com/gpu: needs 1, 0 free",
    ]


def test_a_taken_port_is_told() -> None:
    place, ports = read_node(node("n1"), ResourceNames()), NodeLoad()
    ports.add(Footprint((), 0, 0, (HostPort(EVERY, "TCP", 80),)))
    (taken,) = ports.shortages(place, Footprint((), 0, 0, (HostPort(EVERY, "TCP", 80),)), [])
    assert str(taken) == "a host port is taken"


def test_an_overcommitted_node_takes_who_asks_for_nothing() -> None:
    names = ResourceNames()
    place = read_node(node("n1", 1), names)
    load = NodeLoad()
    load.add(read_footprint(pod("a", 3), names))
    assert load.fits(place, read_footprint(pod("p"), names))
    assert load.how_many_fit(place, read_footprint(pod("p", 1), names)) == 0


SCORES = {
    "an empty node": (4, "4Gi", [], 1, "1Gi", 75 + 75),
    "fuller is worse": (4, "4Gi", [("2", "2Gi")], 1, "1Gi", 25 + 75),
    "balance gets better": (4, "4Gi", [("2", "0")], 0, "2Gi", 50 + 87),
    "balance gets worse": (4, "4Gi", [], 4, "0", (0 + 100) // 2 + 50),
    "nothing asked leaves balance out": (4, "4Gi", [], None, None, 96),
    "no cpu at all": (0, "4Gi", [], None, "1Gi", 75 + 75),
}


@pytest.mark.parametrize(("cpu", "memory", "running", "asked_cpu", "asked_memory", "want"), SCORES.values(), ids=SCORES)
def test_scores(
    cpu: int, memory: str, running: list[tuple[str, str]], asked_cpu: int | None, asked_memory: str | None, want: int
) -> None:
    names = ResourceNames()
    load = NodeLoad()
    for used_cpu, used_memory in running:
        load.add(read_footprint(pod("a", requests={"cpu": used_cpu, "memory": used_memory}), names))
    requests = {} if asked_memory is None else {"memory": asked_memory}
    asking = read_footprint(pod("p", asked_cpu, requests=requests), names)
    assert load.score(read_node(node("n1", cpu, memory=memory), names), asking) == want
