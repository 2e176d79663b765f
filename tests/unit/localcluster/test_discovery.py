"""Discovery, OpenAPI and tables, as kubectl reads them."""

from typing import Any

import aiohttp

from localcluster.cluster import LocalCluster
from localcluster.kinds.clock import ManualClock
from tests.unit.localcluster.serving import WIDGET, widget

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PATH = "/apis/example.dev/v1/namespaces/default/widgets"


async def fetch(client: aiohttp.ClientSession, path: str, accept: str = "application/json") -> Any:
    async with client.get(path, headers={"Accept": accept}) as response:
        assert response.status == 200, await response.text()
        return await response.json(content_type=None)


async def test_every_group_and_version_lists_its_resources(client: aiohttp.ClientSession) -> None:
    groups = await fetch(client, "/apis")
    versions = [version["groupVersion"] for group in groups["groups"] for version in group["versions"]]

    for version in versions:
        listed = await fetch(client, f"/apis/{version}")
        assert listed["groupVersion"] == version
        assert listed["resources"]
    assert "kueue.x-k8s.io/v1beta2" in versions
    assert {"namespaces", "pods", "pods/status", "pods/binding"} <= {
        resource["name"] for resource in (await fetch(client, "/api/v1"))["resources"]
    }


async def test_the_aggregated_document_says_the_same(client: aiohttp.ClientSession) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    document = await fetch(client, "/apis", accept)
    widgets = next(item for item in document["items"] if item["metadata"]["name"] == "example.dev")

    resource = widgets["versions"][0]["resources"][0]
    assert (resource["resource"], resource["scope"]) == ("widgets", "Namespaced")
    assert [each["subresource"] for each in resource["subresources"]] == ["status"]


async def test_openapi_tells_kubectl_that_the_server_validates_fields(client: aiohttp.ClientSession) -> None:
    index = await fetch(client, "/openapi/v3")
    document = await fetch(client, index["paths"]["apis/example.dev/v1"]["serverRelativeURL"])

    patch = document["paths"][f"{PATH.replace('default', '{namespace}')}/{{name}}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "example.dev", "version": "v1", "kind": "Widget"}


async def test_tables_show_names_and_ages(
    cluster: LocalCluster, client: aiohttp.ClientSession, clock: ManualClock
) -> None:
    cluster.store.create(WIDGET, widget("a"), "default")
    clock.advance(90)

    table = await fetch(client, PATH, TABLE)
    bare = await fetch(client, PATH + "?includeObject=None", TABLE)

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
    assert [row["cells"] for row in table["rows"]] == [["a", "90s"]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert "object" not in bare["rows"][0]


async def test_metadata_alone_can_be_asked_for(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    cluster.store.create(WIDGET, widget("a"), "default")

    shown = await fetch(client, PATH, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")

    assert shown["kind"] == "PartialObjectMetadataList"
    assert sorted(shown["items"][0]) == ["apiVersion", "kind", "metadata"]
