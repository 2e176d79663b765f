"""A kubeconfig that is too large, or changes often, blocks no other work; one that does not change costs nothing."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.integration.orchestrator.conditions import cluster
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import running
from tests.integration.orchestrator.world import world as prepared_world

HUGE = b"a: [" + b"1," * 480_000 + b"1]\n"
BROKEN = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KUBECONFIG_TO_NOWHERE = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""
LARGE = b"a: [" + b"1," * 60_000 + b"1]\n"


@pytest.mark.parametrize(
    ("content", "reason", "message"),
    [
        (HUGE, "BadKubeConfig", 'key "kubeconfig" of secret "w2" has 960007 bytes: must be at most 131072'),
        (LARGE, "InsecureKubeConfig", "failed to parse kubeconfig(apiconfig): line 1 holds more than 10000 values"),
    ],
    ids=["a megabyte", "within the size, but with very many values"],
)
async def test_S4_a_large_secret_costs_the_loop_nothing(
    tmp_path: Path, content: bytes, reason: str, message: str
) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.put_secret("w2", content)
        await world.pass_until(lambda: cluster(world, "w2") and cluster(world, "w2")[1] == reason)  # type: ignore[index]
        found = cluster(world, "w2")
        assert found is not None
        assert found[2].endswith(message)
        parsed = world.running_daemon().fleet.loader.parser.parsed
        for _ in range(3):
            await world.pass_time(10)
        assert world.running_daemon().fleet.loader.parser.parsed == parsed
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])


async def test_S4_F13_an_unchanged_secret_is_parsed_once_and_a_changed_one_is_used(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        parser = world.running_daemon().fleet.loader.parser
        assert parser.parsed == 2
        for _ in range(6):
            await world.pass_time(10)
        assert parser.parsed == 2
        world.hub.change(
            "secrets", "w1", lambda s: s["metadata"].update(labels={"a": "b"}), namespace="turnstile-system"
        )
        await world.pass_time(10)
        assert parser.parsed == 2, "only its labels changed"
        secret = world.hub.store.list(world.hub.store.kind("secrets"), "turnstile-system")[0]
        content = base64.b64decode(secret["data"]["kubeconfig"])
        world.put_secret(secret["metadata"]["name"], content + b"\n# renewed\n")
        await world.pass_until(lambda: parser.parsed == 3)


BUNDLES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "S4 good": (lambda authority: authority * (900_000 // len(authority)), "Active"),
    "S4 broken at its end": (lambda authority: authority * 1000 + BROKEN, "InsecureKubeConfig"),
}


@pytest.mark.parametrize("case", BUNDLES)
async def test_an_authority_of_thousands_of_certificates_costs_the_loop_nothing(tmp_path: Path, case: str) -> None:
    bundle_of, reason = BUNDLES[case]
    policy = {"allowed_directories": [str(tmp_path)], "allow_file_references": True}
    async with prepared_world(tmp_path, "w1", "w2", kubeconfig_policy=policy) as world:
        kubeconfig = yaml.safe_load(world["w2"].local.kubeconfig_path.read_text())
        trusted = kubeconfig["clusters"][0]["cluster"]
        bundle, file = tmp_path / "bundle.crt", tmp_path / "w2-with-bundle"
        bundle.write_bytes(bundle_of(base64.b64decode(trusted.pop("certificate-authority-data"))))
        trusted["certificate-authority"] = str(bundle)
        file.write_text(json.dumps(kubeconfig))
        source = {"kubeConfig": {"location": str(file), "locationType": "Path"}}
        world.hub.change("multikueueclusters", "w2", lambda c: c["spec"].update(clusterSource=source), KUEUE, "")
        await world.start()
        await world.pass_until(lambda: (cluster(world, "w2") or ("", ""))[1] == reason)
        for _ in range(3):
            await world.pass_time(10)


async def test_S4_hundreds_of_workers_are_begun_between_other_things(tmp_path: Path) -> None:
    nowhere = KUBECONFIG_TO_NOWHERE.encode()
    async with running(tmp_path, "w1") as world:
        for number in range(60):
            world.put_secret(f"n{number}", nowhere)
            source = {"kubeConfig": {"location": f"n{number}", "locationType": "Secret"}}
            document = {"metadata": {"name": f"n{number}"}, "spec": {"clusterSource": source}}
            world.hub.create("multikueueclusters", document, KUEUE)
        await world.pass_until(lambda: len(world.running_daemon().fleet.links) == 61)
