"""What `resourceVersion` and `resourceVersionMatch` mean for reads."""

import asyncio

import pytest

from tests.conformance.builders import local_queue
from tests.conformance.client import Api, Obj
from tests.conformance.resources import LOCAL_QUEUES
from tests.conformance.samples import Sample
from tests.conformance.servers import Server

FUTURE = str(2**40)


def names(found: Obj) -> list[str]:
    return [each["metadata"]["name"] for each in found["items"]]


async def test_versions_of_one_server_only_grow(api: Api, namespace: str, sample: Sample) -> None:
    versions = [int((await sample.create(api, namespace, name))["metadata"]["resourceVersion"]) for name in "abc"]
    assert versions == sorted(set(versions))


@pytest.mark.parametrize("version", ["0", ""])
async def test_any_version_will_do(api: Api, namespace: str, sample: Sample, version: str) -> None:
    await sample.create(api, namespace, "a")
    # "0" may be served from a cache that lags: only the unset one must show the write.
    for path in (sample.at(namespace), sample.at(namespace, "a")):
        reply = await api.get(path, resourceVersion=version)
        assert reply.status == 200 or (version == "0" and reply.status == 404)


async def test_a_list_not_older_than_a_write_shows_it(api: Api, namespace: str, sample: Sample) -> None:
    version = (await sample.create(api, namespace, "a"))["metadata"]["resourceVersion"]
    for match in ({}, {"resourceVersionMatch": "NotOlderThan"}):
        found = (await api.get(sample.at(namespace), resourceVersion=version, **match)).ok()
        assert names(found) == ["a"]
        assert int(found["metadata"]["resourceVersion"]) >= int(version)


async def test_a_get_not_older_than_a_write_shows_it(api: Api, namespace: str, sample: Sample) -> None:
    version = (await sample.create(api, namespace, "a"))["metadata"]["resourceVersion"]
    assert (await api.get(sample.at(namespace, "a"), resourceVersion=version)).ok()["metadata"]["name"] == "a"


async def test_an_exact_list_shows_the_past(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    version = (await api.get(sample.at(namespace))).ok()["metadata"]["resourceVersion"]
    (await api.delete(sample.at(namespace, "a"))).ok()
    await sample.create(api, namespace, "b")
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    found = (await api.get(sample.at(namespace), **exact)).ok()
    assert (names(found), found["metadata"]["resourceVersion"]) == (["a"], version)
    # A limit with a version is an exact list too.
    assert names((await api.get(sample.at(namespace), resourceVersion=version, limit="5")).ok()) == ["a"]


async def test_an_exact_list_of_forgotten_history_is_expired(
    api: Api, server: Server, namespace: str, sample: Sample
) -> None:
    version = (await sample.create(api, namespace, "a"))["metadata"]["resourceVersion"]
    await sample.create(api, namespace, "b")
    server.compact()
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    (await api.get(sample.at(namespace), **exact)).error(410, "Expired")


async def test_the_future_is_not_to_be_had(api: Api, namespace: str) -> None:
    (await api.post(LOCAL_QUEUES.at(namespace), local_queue("a"))).expect(201)
    # Together, because a server may wait a while for such a version to come.
    not_older, exact, watched = await asyncio.gather(
        api.get(LOCAL_QUEUES.at(namespace), resourceVersion=FUTURE),
        api.get(LOCAL_QUEUES.at(namespace), resourceVersion=FUTURE, resourceVersionMatch="Exact"),
        api.get(LOCAL_QUEUES.at(namespace), resourceVersion=FUTURE, watch="true", timeoutSeconds="1"),
    )
    for reply in (not_older, exact):
        assert_too_large(reply.error(504, "Timeout"))
    assert not_older.body["details"]["retryAfterSeconds"] >= 1
    # A watch may wait in silence, but must not tell of the present as if it were the future.
    if watched.status != 200:
        assert_too_large(watched.error(504, "Timeout"))
    elif watched.body:
        assert watched.body["type"] == "ERROR"
        assert_too_large(watched.body["object"])


def assert_too_large(status: Obj) -> None:
    assert "Too large resource version" in status["message"]
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize("version", ["abc", "-5", "1.5"])
async def test_version_that_is_no_number_is_named(api: Api, namespace: str, sample: Sample, version: str) -> None:
    reply = await api.get(sample.at(namespace), resourceVersion=version)
    # A real server owns up to 500 here; what matters is that the caller learns which parameter was wrong.
    assert reply.status in {400, 500}
    assert reply.body["kind"] == "Status"
    assert f'resourceVersion: Invalid value: "{version}"' in reply.body["message"]


@pytest.mark.parametrize(
    "parameters",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"resourceVersionMatch": "Nonsense", "resourceVersion": "1"},
    ],
    ids=["exact without version", "not older without version", "exact zero", "nonsense"],
)
async def test_match_that_is_malformed(api: Api, namespace: str, sample: Sample, parameters: dict[str, str]) -> None:
    status = (await api.get(sample.at(namespace), **parameters)).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "resourceVersionMatch"
