"""Query parameters as Go reads them, and as clients in other languages send them."""

import pytest

from tests.conformance.client import Api
from tests.conformance.samples import CUSTOM, Sample

TRUE = ["1", "true", "True", "TRUE", "t", "anything", "yes"]
FALSE = ["0", "false", "False", "FALSE"]


@pytest.mark.parametrize("value", TRUE)
async def test_watch_is_on(api: Api, namespace: str, value: str) -> None:
    async with api.watch(CUSTOM.at(namespace), watch=value) as watch:
        await CUSTOM.create(api, namespace, "a")
        assert await watch.next_change() == ("ADDED", "a")


@pytest.mark.parametrize("value", FALSE)
async def test_watch_is_off(api: Api, namespace: str, sample: Sample, value: str) -> None:
    assert (await api.get(sample.at(namespace), watch=value)).ok()["items"] == []


@pytest.mark.parametrize("value", ["1", "True"])
async def test_force_is_on(api: Api, namespace: str, sample: Sample, value: str) -> None:
    for manager, label in (("one", "1"), ("two", "2")):
        built = sample.build("a", metadata={"labels": {"x": label}})
        applied = await api.apply(sample.at(namespace, "a"), built, manager, force=value)
        assert applied.status in {200, 201}


@pytest.mark.parametrize("value", ["0", "False"])
async def test_force_is_off(api: Api, namespace: str, sample: Sample, value: str) -> None:
    (await api.apply(sample.at(namespace, "a"), sample.build("a", metadata={"labels": {"x": "1"}}), "one")).expect(201)
    built = sample.build("a", metadata={"labels": {"x": "2"}})
    (await api.apply(sample.at(namespace, "a"), built, "two", force=value)).error(409, "Conflict")


async def test_unknown_parameter_is_ignored(api: Api, namespace: str, sample: Sample) -> None:
    assert (await api.get(sample.at(namespace), nosuch="1", pretty="false")).ok()["items"] == []


async def test_empty_parameters_are_as_none(api: Api, namespace: str, sample: Sample) -> None:
    parameters = {"continue": "", "labelSelector": "", "fieldSelector": "", "resourceVersion": ""}
    assert (await api.get(sample.at(namespace), **parameters)).ok()["items"] == []


async def test_pretty_answers_hold_the_same(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    assert (await api.get(sample.at(namespace, "a"), pretty="true")).ok() == created
