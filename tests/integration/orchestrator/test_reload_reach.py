"""Every field that may change while the daemon runs is read again by a part of it after a reload."""

from pathlib import Path

import yaml

from config.loading.changes import LIVE
from manager.app.service import hub_access
from manager.serving.endpoints import Endpoints
from tests.integration.endpoints.house import write_certificate
from tests.integration.orchestrator.kueue import KUEUE, Obj
from tests.integration.orchestrator.world import ORIGIN, SYSTEM, World, steady, world
from tests.support.recording_configuration import reload
from workerclient.cluster import ClientContext

PROXY = "https://proxy.example.com:3128"


ODD_KUBECONFIGS: dict[str, tuple[Obj, Obj]] = {
    "proxied": ({"proxy-url": PROXY}, {}),
    "plugin": ({}, {"exec": {"apiVersion": "v1", "command": "login"}}),
    "files": ({}, {"tokenFile": "/var/run/token"}),
}
"""Kubeconfigs that make the daemon consult every field of the policy, by what they change of the cluster and user."""


def add_odd_workers(made: World) -> None:
    sources: Obj = {name: {"kubeConfig": {"location": name, "locationType": "Secret"}} for name in ODD_KUBECONFIGS}
    profile = {"metadata": {"name": "inventoried"}, "spec": {}}
    made.hub.create("clusterprofiles", profile, "multicluster.x-k8s.io", SYSTEM)
    sources["profile"] = {"clusterProfileRef": {"name": "inventoried"}}
    for name, source in sources.items():
        made.hub.create("multikueueclusters", {"metadata": {"name": name}, "spec": {"clusterSource": source}}, KUEUE)


def rotate(made: World, comment: str) -> None:
    """Write kubeconfigs that were never read before."""
    document = yaml.safe_load(made["w1"].kubeconfig())
    for name, (of_cluster, of_user) in ODD_KUBECONFIGS.items():
        odd = yaml.safe_load(yaml.safe_dump(document))
        odd["clusters"][0]["cluster"] |= of_cluster
        odd["users"][0]["user"] |= of_user
        made.put_secret(name, f"{yaml.safe_dump(odd)}# {comment}".encode())


def readers_of(directory: Path) -> list[Obj]:
    """Return settings of HTTP that together use every one of its fields that may change."""
    write_certificate(directory)
    (directory / "token").write_text("a-token-for-those-who-read")
    tls = {"certificate_file": str(directory / "tls.crt"), "key_file": str(directory / "tls.key")}
    return [
        {"authorization": "TokenFile", "token_file": str(directory / "token"), **tls},
        {"authorization": "Kubernetes", "audiences": ["turnstile"]},
    ]


async def test_every_live_field_reaches_a_part_of_the_daemon(tmp_path: Path) -> None:
    async with world(tmp_path, "w1") as made:
        made.options |= {
            "hub": {"origin": ORIGIN, "namespace": SYSTEM, "kubeconfig": str(made.hub.local.kubeconfig_path)},
            "workers": [{"name": "file", "kubeconfig": {"path": str(tmp_path / "absent")}}],
            "forecast": {"enabled": True},
            "cluster_profiles": {"enabled": True, "access_providers": [{"name": "inventory", "command": "/bin/login"}]},
        }
        add_odd_workers(made)
        rotate(made, "at first")
        daemon = await made.start()
        await made.connected("w1")
        found: set[tuple[str, ...]] = set()
        for turn, http in enumerate(readers_of(tmp_path)):
            made.options["http"] = {"port": 0, **http}
            configuration = made.configuration()
            endpoints = Endpoints(configuration.http, hub_access(configuration), ClientContext(made.clock, steady))
            async with endpoints.open(configuration.http):
                reads = await reload(configuration, endpoints.prepare, daemon.prepare)
            daemon.inspector.workers()  # consults what forecasts are judged by
            rotate(made, f"turn {turn}")
            await made.pass_time(11)  # all kubeconfigs are read again
            found |= reads
        assert LIVE - found == set()
