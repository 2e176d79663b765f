"""Kueue's resource definitions, taken from its module, and those of other kinds of jobs that it can queue.

Where Kueue runs, it converts between versions. Where it does not, only v1beta2 is served.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.realbed import build
from tests.realbed.apiserver import ApiServer
from tests.realbed.processes import wait_until

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP = "kueue.x-k8s.io"
_VERSION = "v1beta2"
_SERVED_SECONDS = 60.0


def install(server: ApiServer, conversion: Mapping[str, Any] | None = None, module_file: str = "go.mod") -> None:
    """Create the definitions and return once each kind is served, in discovery and in the OpenAPI document.

    `conversion` is the client configuration of the webhook that converts between versions. The module file says of
    which release they are.
    """
    definitions = _definitions(conversion, module_file)
    for definition in definitions:
        status, reply = server.call("POST", _DEFINITIONS, definition)
        if status != 201:
            raise RuntimeError(f"{definition['metadata']['name']}: {status} {reply.get('message')}")
    _wait_until_served(server, definitions)


def replace(server: ApiServer, conversion: Mapping[str, Any], module_file: str) -> None:
    """Put the definitions of another release in place of those that are there."""
    definitions = _definitions(conversion, module_file)
    for definition in definitions:
        path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
        status, present = server.call("GET", path)
        if status != 200:
            status, reply = server.call("POST", _DEFINITIONS, definition)
        else:
            version = present["metadata"]["resourceVersion"]
            changed = {**definition, "metadata": {**definition["metadata"], "resourceVersion": version}}
            status, reply = server.call("PUT", path, changed)
        if status not in (200, 201):
            raise RuntimeError(f"{definition['metadata']['name']}: {status} {reply.get('message')}")
    _wait_until_served(server, definitions)


def _definitions(conversion: Mapping[str, Any] | None, module_file: str) -> list[dict[str, Any]]:
    found = _from_module(module_file)
    if conversion is None:
        return [_single_version(each) for each in found]
    converted = _converted_kinds(module_file)
    return [_all_versions(each, converted, conversion) for each in found]


def _wait_until_served(server: ApiServer, definitions: Sequence[Mapping[str, Any]]) -> None:
    plurals = {each["spec"]["names"]["plural"] for each in definitions}
    wait_until(lambda: _is_served(server, plurals), seconds=_SERVED_SECONDS, what="Kueue's kinds to be served")


def install_job_sets(server: ApiServer) -> None:
    """Create the definition of JobSets: jobs with several pod sets. No controller runs them here, Kueue queues them."""
    base = build.module_directory("sigs.k8s.io/jobset") / "config" / "components" / "crd" / "bases"
    _install(server, base, "jobset.x-k8s.io", "v1alpha2", "jobsets")


def install_ray_clusters(server: ApiServer) -> None:
    """Create the definition of RayClusters: elastic jobs with several groups. No operator makes their pods here."""
    base = build.module_directory("github.com/ray-project/kuberay/ray-operator") / "config" / "crd" / "bases"
    _install(server, base, "ray.io", "v1", "rayclusters")


def _install(server: ApiServer, base: Path, group: str, version: str, resource: str) -> None:
    (path,) = base.glob(f"*_{resource}.yaml")
    definition = yaml.load(path.read_bytes(), yaml.CSafeLoader)
    status, reply = server.call("POST", _DEFINITIONS, definition)
    if status != 201:
        raise RuntimeError(f"{path.name}: {status} {reply.get('message')}")
    listed = f"/apis/{group}/{version}/{resource}?limit=1"
    wait_until(lambda: server.call("GET", listed)[0] == 200, seconds=_SERVED_SECONDS, what=f"{resource} to be served")


def _from_module(module_file: str) -> list[dict[str, Any]]:
    bases = build.module_directory("sigs.k8s.io/kueue", module_file) / "config" / "components" / "crd" / "bases"
    return [yaml.load(path.read_bytes(), yaml.CSafeLoader) for path in sorted(bases.glob(f"{_GROUP}_*.yaml"))]


def _single_version(definition: dict[str, Any]) -> dict[str, Any]:
    spec = definition["spec"]
    versions = [version for version in spec["versions"] if version["name"] == _VERSION]
    return {**definition, "spec": {**spec, "versions": versions, "conversion": {"strategy": "None"}}}


def _all_versions(definition: dict[str, Any], converted: set[str], conversion: Mapping[str, Any]) -> dict[str, Any]:
    if definition["metadata"]["name"] not in converted:
        return definition
    webhook = {"clientConfig": conversion, "conversionReviewVersions": ["v1"]}
    return {**definition, "spec": {**definition["spec"], "conversion": {"strategy": "Webhook", "webhook": webhook}}}


def _converted_kinds(module_file: str) -> set[str]:
    """Return the names of the definitions that Kueue's own installation gives a conversion webhook."""
    components = build.module_directory("sigs.k8s.io/kueue", module_file) / "config" / "components" / "crd"
    listed = yaml.load((components / "kustomization.yaml").read_bytes(), yaml.CSafeLoader)["patches"]
    patches = [yaml.load((components / each["path"]).read_bytes(), yaml.CSafeLoader) for each in listed]
    return {patch["metadata"]["name"] for patch in patches if "conversion" in patch.get("spec", {})}


def _is_served(server: ApiServer, plurals: set[str]) -> bool:
    status, resources = server.call("GET", f"/apis/{_GROUP}/{_VERSION}")
    if status != 200 or not plurals <= {each["name"] for each in resources["resources"]}:
        return False
    status, document = server.call("GET", f"/openapi/v3/apis/{_GROUP}/{_VERSION}")
    return (
        status == 200
        and all(any(path.endswith(f"/{plural}") for path in document["paths"]) for plural in plurals)
        and all(_is_listable(server, plural) for plural in plurals)
    )


def _is_listable(server: ApiServer, plural: str) -> bool:
    return server.call("GET", f"/apis/{_GROUP}/{_VERSION}/{plural}?limit=1")[0] == 200
