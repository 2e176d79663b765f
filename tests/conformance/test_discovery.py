"""What a server says about itself: versions, groups, resources and their schemas."""

import pytest

from tests.conformance.client import Api, Obj
from tests.conformance.resources import (
    ACCESS_REVIEWS,
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    LEASES,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    NAMESPACES,
    NEW_EVENTS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    SECRETS,
    TOPOLOGIES,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)

STANDARD_VERBS = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

SHORT_NAMES = {
    NAMESPACES: ["ns"],
    NODES: ["no"],
    SECRETS: [],
    PODS: ["po"],
    EVENTS: ["ev"],
    NEW_EVENTS: ["ev"],
    LEASES: [],
    JOBS: [],
    DISRUPTION_BUDGETS: ["pdb"],
    PRIORITY_CLASSES: ["pc"],
    POD_GROUPS: [],
    WORKLOADS: ["kueueworkload", "kueueworkloads", "kwl"],
    LOCAL_QUEUES: ["queue", "queues", "lq"],
    CLUSTER_QUEUES: ["cq"],
    COHORTS: ["co"],
    RESOURCE_FLAVORS: ["flavor", "flavors", "rf"],
    ADMISSION_CHECKS: ["ac"],
    WORKLOAD_PRIORITY_CLASSES: ["wpc"],
    MULTIKUEUE_CONFIGS: ["mkconf"],
    MULTIKUEUE_CLUSTERS: ["mkc"],
    TOPOLOGIES: ["topo"],
}

WITH_STATUS = {
    NAMESPACES,
    NODES,
    PODS,
    JOBS,
    DISRUPTION_BUDGETS,
    WORKLOADS,
    LOCAL_QUEUES,
    CLUSTER_QUEUES,
    COHORTS,
    ADMISSION_CHECKS,
    MULTIKUEUE_CLUSTERS,
    POD_GROUPS,
}


async def resource_list(api: Api, base: str) -> dict[str, Obj]:
    found = (await api.get(base)).ok()
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", base.split("/", 2)[2])
    return {each["name"]: each for each in found["resources"]}


async def test_version_says_which_release_it_speaks(api: Api) -> None:
    version = (await api.get("/version")).ok()
    assert (version["major"], version["minor"]) == ("1", "36")
    assert version["gitVersion"].startswith("v1.36.")


async def test_root_lists_the_paths(api: Api) -> None:
    assert {"/api", "/apis", "/apis/kueue.x-k8s.io/v1beta2", "/version"} <= set((await api.get("/")).ok()["paths"])


async def test_core_group_has_version_one(api: Api) -> None:
    versions = (await api.get("/api")).ok()
    assert (versions["kind"], versions["versions"]) == ("APIVersions", ["v1"])
    assert isinstance(versions["serverAddressByClientCIDRs"], list)


async def test_groups_are_listed_with_their_preferred_version(api: Api) -> None:
    groups = (await api.get("/apis")).ok()
    assert (groups["kind"], groups["apiVersion"]) == ("APIGroupList", "v1")
    preferred = {group["name"]: group["preferredVersion"]["groupVersion"] for group in groups["groups"]}
    served = {resource.group: resource.api_version for resource in SHORT_NAMES if resource.group}
    assert preferred == preferred | served | {"scheduling.k8s.io": "scheduling.k8s.io/v1"}


@pytest.mark.parametrize("group", ["batch", "kueue.x-k8s.io"])
async def test_a_group_lists_its_versions(api: Api, group: str) -> None:
    found = (await api.get(f"/apis/{group}")).ok()
    assert (found["kind"], found["name"]) == ("APIGroup", group)
    assert found["preferredVersion"] in found["versions"]
    assert all(each["groupVersion"] == f"{group}/{each['version']}" for each in found["versions"])


@pytest.mark.parametrize("resource", SHORT_NAMES, ids=lambda resource: f"{resource.qualified}")
async def test_resource_is_discoverable(api: Api, resource: Resource) -> None:
    found = (await resource_list(api, resource.base))[resource.plural]
    assert (found["kind"], found["singularName"]) == (resource.kind, resource.kind.lower())
    assert found["namespaced"] is resource.is_namespaced
    assert sorted(found.get("shortNames", [])) == sorted(SHORT_NAMES[resource])
    missing = {"deletecollection"} if resource is NAMESPACES else set()
    assert set(found["verbs"]) == STANDARD_VERBS - missing


@pytest.mark.parametrize("resource", SHORT_NAMES, ids=lambda resource: f"{resource.qualified}")
async def test_status_subresource_is_listed_where_there_is_one(api: Api, resource: Resource) -> None:
    status = (await resource_list(api, resource.base)).get(f"{resource.plural}/status")
    assert (status is not None) == (resource in WITH_STATUS)
    if status is not None:
        assert (status["kind"], status["namespaced"]) == (resource.kind, resource.is_namespaced)
        assert set(status["verbs"]) == {"get", "patch", "update"}


async def test_access_reviews_can_only_be_created(api: Api) -> None:
    found = (await resource_list(api, ACCESS_REVIEWS.base))[ACCESS_REVIEWS.plural]
    assert (found["verbs"], found["namespaced"]) == (["create"], False)


async def test_pod_binding_is_a_subresource_of_another_kind(api: Api) -> None:
    binding = (await resource_list(api, PODS.base))["pods/binding"]
    assert (binding["kind"], binding["verbs"]) == ("Binding", ["create"])


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_a_client_that_prefers_aggregated_discovery_gets_something_it_understands(api: Api, path: str) -> None:
    preferred = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    found = (await api.get(path, accept=f"{preferred},application/json")).ok()
    assert found["kind"] in {"APIGroupDiscoveryList", "APIGroupList", "APIVersions"}


async def test_openapi_index_points_to_one_document_per_group_version(api: Api) -> None:
    answer = await api.get("/openapi/v3")
    assert answer.headers["Content-Type"].partition(";")[0] == "text/plain"
    paths = answer.ok()["paths"]
    for resource in SHORT_NAMES:
        assert paths[resource.base[1:]]["serverRelativeURL"].startswith(f"/openapi/v3{resource.base}")


@pytest.mark.parametrize(
    "resource", [SECRETS, JOBS, WORKLOADS, CLUSTER_QUEUES], ids=lambda resource: f"{resource.kind}"
)
async def test_openapi_document_has_the_schema_of_a_kind(api: Api, resource: Resource) -> None:
    index = (await api.get("/openapi/v3")).ok()["paths"]
    document = (await api.get(index[resource.base[1:]]["serverRelativeURL"])).ok()
    assert document["openapi"].startswith("3.")
    kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
    schemas = [
        schema
        for schema in document["components"]["schemas"].values()
        if kind in schema.get("x-kubernetes-group-version-kind", [])
    ]
    assert len(schemas) == 1
    assert {"apiVersion", "kind", "metadata"} <= set(schemas[0]["properties"])


async def test_openapi_paths_tell_which_parameters_a_write_takes(api: Api) -> None:
    # kubectl looks here to learn whether the server validates fields by itself.
    document = (await api.get(f"/openapi/v3{WORKLOADS.base}")).ok()
    path = f"{WORKLOADS.base}/namespaces/{{namespace}}/workloads"
    create = document["paths"][path]["post"]
    assert {"dryRun", "fieldManager", "fieldValidation"} <= {each["name"] for each in create["parameters"]}
    patch = document["paths"][f"{path}/{{name}}"]["patch"]
    assert {"dryRun", "fieldManager", "fieldValidation", "force"} <= {each["name"] for each in patch["parameters"]}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_is_told_in_one_word(api: Api, path: str) -> None:
    reply = await api.get(path, accept="*/*")
    assert (reply.status, reply.body) == (200, "ok")


@pytest.mark.parametrize("path", ["/apis/nosuch.example", "/apis/nosuch.example/v1", "/apis/batch/v9"])
async def test_unknown_group_or_version_is_not_found(api: Api, path: str) -> None:
    assert (await api.get(path)).status == 404
