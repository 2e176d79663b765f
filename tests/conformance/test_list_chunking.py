"""Lists in pieces: `limit`, and `continue` tokens that keep to one snapshot."""

import pytest
import pytest_asyncio

from tests.conformance.client import Api, Obj
from tests.conformance.samples import Sample
from tests.conformance.servers import Server

NAMES = ["a", "b", "c", "d", "e"]


@pytest_asyncio.fixture(loop_scope="session")
async def five(api: Api, namespace: str, sample: Sample) -> list[str]:
    for name in reversed(NAMES):
        await sample.create(api, namespace, name, labels={"vowel": str(name in "ae").lower()})
    return NAMES


def names(page: Obj) -> list[str]:
    return [each["metadata"]["name"] for each in page["items"]]


async def test_pages_follow_each_other_without_gap_or_overlap(
    api: Api, namespace: str, sample: Sample, five: list[str]
) -> None:
    pages = [(await api.get(sample.at(namespace), limit="2")).ok()]
    while token := pages[-1]["metadata"].get("continue"):
        pages.append((await api.get(sample.at(namespace), limit="2", **{"continue": token})).ok())
    assert [names(page) for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert [page["metadata"].get("remainingItemCount") for page in pages] == [3, 1, None]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1


async def test_limit_that_is_not_reached_gives_a_complete_list(
    api: Api, namespace: str, sample: Sample, five: list[str]
) -> None:
    for limit in ("5", "500", "0"):
        page = (await api.get(sample.at(namespace), limit=limit)).ok()
        assert names(page) == five
        assert not page["metadata"].get("continue")
        assert "remainingItemCount" not in page["metadata"]


async def test_pages_show_the_state_of_the_first_one(api: Api, namespace: str, sample: Sample, five: list[str]) -> None:
    first = (await api.get(sample.at(namespace), limit="2")).ok()
    (await api.delete(sample.at(namespace, "c"))).ok()
    await sample.create(api, namespace, "cc")
    rest = (await api.get(sample.at(namespace), **{"continue": first["metadata"]["continue"]})).ok()
    assert names(rest) == ["c", "d", "e"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_selectors_apply_before_the_limit(api: Api, namespace: str, sample: Sample, five: list[str]) -> None:
    first = (await api.get(sample.at(namespace), limit="1", labelSelector="vowel=true")).ok()
    assert names(first) == ["a"]
    # A filter cannot know how many will match.
    assert "remainingItemCount" not in first["metadata"]
    token = first["metadata"]["continue"]
    rest = (await api.get(sample.at(namespace), limit="5", labelSelector="vowel=true", **{"continue": token})).ok()
    assert names(rest) == ["e"]


async def test_pages_over_all_namespaces(api: Api, namespace: str, sample: Sample, five: list[str]) -> None:
    found: list[str] = []
    token = ""
    while True:
        page = (await api.get(sample.at(), limit="3", **{"continue": token})).ok()
        found += [each["metadata"]["name"] for each in page["items"] if each["metadata"]["namespace"] == namespace]
        token = page["metadata"].get("continue", "")
        if not token:
            break
    assert found == five


async def test_invalid_continue_token_is_a_bad_request(api: Api, namespace: str, sample: Sample) -> None:
    status = (await api.get(sample.at(namespace), limit="2", **{"continue": "nonsense"})).error(400, "BadRequest")
    assert "continue key is not valid" in status["message"]


async def test_continue_token_goes_without_a_resource_version(
    api: Api, namespace: str, sample: Sample, five: list[str]
) -> None:
    first = (await api.get(sample.at(namespace), limit="2")).ok()
    parameters = {"continue": first["metadata"]["continue"], "resourceVersion": first["metadata"]["resourceVersion"]}
    status = (await api.get(sample.at(namespace), limit="2", **parameters)).error(400, "BadRequest")
    assert "specifying resource version is not allowed when using continue" in status["message"]


async def test_token_outlived_by_its_snapshot_is_expired(
    api: Api, server: Server, namespace: str, sample: Sample, five: list[str]
) -> None:
    first = (await api.get(sample.at(namespace), limit="2")).ok()
    await sample.create(api, namespace, "f")
    server.compact()
    expired = await api.get(sample.at(namespace), limit="2", **{"continue": first["metadata"]["continue"]})
    status = expired.error(410, "Expired")
    # The way out for clients that can live with a list of two halves.
    token = status["metadata"]["continue"]
    rest = (await api.get(sample.at(namespace), **{"continue": token})).ok()
    assert names(rest) == ["c", "d", "e", "f"]


@pytest.mark.parametrize("limit", ["many", "1.5"])
async def test_limit_that_is_no_number_is_a_bad_request(api: Api, namespace: str, sample: Sample, limit: str) -> None:
    (await api.get(sample.at(namespace), limit=limit)).error(400, "BadRequest")
