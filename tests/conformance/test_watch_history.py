"""Watches from versions that are gone, or not there yet."""

import pytest

from tests.conformance.client import Api
from tests.conformance.samples import CUSTOM, Sample
from tests.conformance.servers import Server

FUTURE = str(2**40)


async def test_watch_from_forgotten_history_is_gone(api: Api, server: Server, namespace: str) -> None:
    # A real server remembers recent changes in memory as well; version 1 is older than its memory of a custom kind.
    await CUSTOM.create(api, namespace, "a")
    server.compact()
    async with api.watch(CUSTOM.at(namespace), resourceVersion="1") as watch:
        (event,) = await watch.rest()
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["status"], status["code"], status["reason"]) == ("Status", "Failure", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


async def test_watch_goes_on_from_the_present_after_history_is_gone(
    api: Api, server: Server, namespace: str, sample: Sample
) -> None:
    await sample.create(api, namespace, "a")
    server.compact()
    version = (await api.get(sample.at(namespace))).ok()["metadata"]["resourceVersion"]
    async with api.watch(sample.at(namespace), resourceVersion=version) as watch:
        await sample.create(api, namespace, "b")
        assert await watch.next_change() == ("ADDED", "b")


async def test_open_watch_survives_the_loss_of_history(
    api: Api, server: Server, namespace: str, sample: Sample
) -> None:
    version = (await api.get(sample.at(namespace))).ok()["metadata"]["resourceVersion"]
    async with api.watch(sample.at(namespace), resourceVersion=version) as watch:
        await sample.create(api, namespace, "a")
        assert await watch.next_change() == ("ADDED", "a")
        server.compact()
        await sample.create(api, namespace, "b")
        assert await watch.next_change() == ("ADDED", "b")


async def test_watch_from_the_future_says_nothing_of_the_present(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    reply = await api.get(sample.at(namespace), watch="true", resourceVersion=FUTURE, timeoutSeconds="1")
    # Waiting in silence is allowed, and so is saying that this version does not exist.
    if reply.status != 200:
        assert reply.error(504, "Timeout")["message"].startswith("Too large resource version")
    elif reply.body:
        assert (reply.body["type"], reply.body["object"]["kind"]) == ("ERROR", "Status")


@pytest.mark.parametrize("version", ["abc", "-5"])
async def test_version_that_is_no_number_is_named(api: Api, namespace: str, sample: Sample, version: str) -> None:
    reply = await api.get(sample.at(namespace), watch="true", resourceVersion=version)
    assert reply.status in {400, 500}
    assert f'resourceVersion: Invalid value: "{version}"' in reply.body["message"]
