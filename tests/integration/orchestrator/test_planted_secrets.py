"""Secrets are planted in everything that is read, and looked for in everything that is written."""

import asyncio
import base64
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from localcluster.access.auth import TokenUser
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster
from tests.integration.orchestrator.daemon_process import CONFIGURATION, ended, start
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster
from tests.integration.orchestrator.world import CHECK, CONFIG, SYSTEM, World
from tests.support.otlp_collector import Collector, collecting
from tests.support.virtual_time import VirtualClock, until

MARK = "S3CR3T"
TOKENS = {name: f"{MARK}-{name}-token-of-a-worker" for name in ("good", "rejected", "http")}
PLUGIN = '#!/bin/sh\necho "$PLANTED" >&2\necho "{\\"token\\": \\"$PLANTED\\""\nexit 3\n'
NOT_YAML = f"users: [ {{ token: {MARK}-not-yaml\n"


def spoilt(good: dict[str, Any], cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None) -> str:
    document = json.loads(json.dumps(good))
    document["clusters"][0]["cluster"] |= cluster or {}
    if user is not None:
        document["users"][0]["user"] = user
    return yaml.safe_dump(document)


def kubeconfigs(good: dict[str, Any], plugin: Path) -> dict[str, str]:
    """Return kubeconfigs, one of them good, each with another kind of secret in it."""
    key = f"-----BEGIN PRIVATE KEY-----\n{MARK}-key\n-----END PRIVATE KEY-----\n"
    encoded = base64.b64encode(key.encode()).decode()
    env = [{"name": "PLANTED", "value": f"{MARK}-env"}]
    run = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(plugin),
        "args": [f"--password={MARK}-argument"],
        "env": env,
        "interactiveMode": "Never",
    }
    return {
        "good": spoilt(good, user={"token": TOKENS["good"]}),
        "rejected": spoilt(good, user={"token": TOKENS["rejected"]}),
        "key": spoilt(good, user={"client-certificate-data": encoded, "client-key-data": encoded}),
        "password": spoilt(good, user={"username": "admin", "password": f"{MARK}-password"}),
        "exec": spoilt(good, user={"exec": run}),
        "proxy": spoilt(good, {"proxy-url": f"http://user:{MARK}-proxy@proxy.example:3128"}),
        "address": spoilt(good, {"server": f"https://user:{MARK}-server@worker.example"}),
        "lines": spoilt(good, user={"token": f"{MARK}-with\nlines"}),
        "nonsense": NOT_YAML,
    }


def objects_of(hub: LocalCluster) -> str:
    """Return everything on the hub but the Secrets in which the kubeconfigs are."""
    kinds = [kind for kind in all_kinds() if kind.plural != "secrets"]
    return json.dumps([hub.store.list(kind) for kind in kinds], default=str)


async def printed(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "manager",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return output.decode()


async def answered(place: str) -> str:
    """Return what readers get, good ones and bad ones."""
    found = []
    async with aiohttp.ClientSession(trust_env=False) as session:
        for token in (TOKENS["http"], f"{MARK}-guessed"):
            for path in ("/metrics", "/v1/workers", "/v1/workloads", f"/v1/workloads/{MARK.lower()}-x/y/explanation"):
                headers = {"Authorization": f"Bearer {token}"}
                async with session.get(f"http://{place}{path}", headers=headers) as answer:
                    found.append(await answer.text())
    return "\n".join(found).replace(f"{MARK.lower()}-x", "")  # what was asked for may be named in the answer


@dataclass
class Planted:
    """The clusters, and the configuration of a daemon that is given all the kubeconfigs."""

    directory: Path
    hub: LocalCluster
    worker: LocalCluster
    collector: Collector
    names: list[str]
    sections: dict[str, Any]

    @property
    def file(self) -> str:
        return str(self.directory / "turnstile.yaml")

    def is_at_work(self) -> bool:
        """Return whether a job went the whole way to the good worker."""
        kind = self.worker.store.kind("workloads", KUEUE)
        return "Active" in objects_of(self.hub) and bool(self.worker.store.list(kind)) and self._has_journal()

    def _has_journal(self) -> bool:
        return (self.directory / "journal.db").exists()


@asynccontextmanager
async def planted(directory: Path, form: str) -> AsyncIterator[Planted]:
    plugin = directory / "plugin"
    plugin.write_text(PLUGIN)
    plugin.chmod(0o700)
    (directory / "http-token").write_text(TOKENS["http"])
    users = [TokenUser("worker", TOKENS["good"])]
    async with (
        LocalCluster("hub", directory) as hub,
        LocalCluster("good", directory, users=users) as worker,
        collecting() as collector,
    ):
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        documents = kubeconfigs(yaml.safe_load(worker.kubeconfig_path.read_text()), plugin)
        register(hub, documents)
        for cluster in (hub, worker):
            cluster.store.create(cluster.store.kind("namespaces"), {"metadata": {"name": NAMESPACE}})
        clock = VirtualClock()
        World(clock, Cluster("hub", directory, clock, local=hub), {}).queue()
        listed = []
        for name, document in documents.items():
            (directory / f"{name}.kubeconfig").write_text(document)
            listed.append({"name": f"file-{name}", "kubeconfig": {"path": str(directory / f"{name}.kubeconfig")}})
        sections: dict[str, Any] = {
            "hub": {"kubeconfig": str(hub.kubeconfig_path)},
            "jobs": {"integrations": ["batch/job"]},
            "workers": listed,
            "kubeconfigPolicy": {"allowedDirectories": [str(directory)], "allowExecPlugins": True},
            "logging": {"format": form, "level": "debug"},
            "api": {"socket": str(directory / "api.sock")},
            "journal": {"path": str(directory / "journal.db")},
            "http": {"port": 0, "authorization": "TokenFile", "tokenFile": str(directory / "http-token")},
            "tracing": {"endpoint": collector.endpoint},
        }
        yield Planted(directory, hub, worker, collector, sorted(documents), sections)


async def ends_after_a_wrong_file(scene: Planted, process: asyncio.subprocess.Process, log: "Log") -> None:
    """Have the process refuse a file with secrets in it."""
    document = {**CONFIGURATION, **scene.sections, "hub": NOT_YAML}
    (scene.directory / "turnstile.yaml").write_text(json.dumps(document))
    process.send_signal(signal.SIGHUP)
    await log.tells("configuration.refused")


def expect_no_secret_in(outputs: dict[str, str]) -> None:
    assert all(outputs.values()), [name for name, text in outputs.items() if not text]
    found = {name: text[max(0, text.find(MARK) - 200) :][:400] for name, text in outputs.items() if MARK in text}
    assert not found


@pytest.mark.parametrize("form", ["json", "console"])
async def test_no_planted_secret_comes_out_anywhere(tmp_path: Path, form: str) -> None:
    async with planted(tmp_path, form) as scene:
        process = await start(tmp_path, **scene.sections)
        log = Log(process)
        outputs: dict[str, str] = {}
        try:
            await log.tells(*(name for name in scene.names if name not in ("good", "lines")))
            await until(scene.is_at_work)
            asked = ("--socket", str(tmp_path / "api.sock"))
            job = str(tmp_path / "job.json")
            (tmp_path / "job.json").write_text(json.dumps(job_of_a_user()))
            outputs |= {
                "http": await answered(log.address()),
                "status": await printed("status", *asked, "-o", "json"),
                "explain": await printed("explain", f"{NAMESPACE}/wl", *asked),
                "timeline": await printed("timeline", f"{NAMESPACE}/wl", *asked),
                "plan": await printed("plan", "-n", NAMESPACE, "-f", job, "-o", "wide", *asked),
                "plan without a daemon": await printed("plan", "-n", NAMESPACE, "-f", job, "--config", scene.file),
                "doctor": await printed("doctor", "--config", scene.file, "-o", "wide"),
                "validate": await printed("config", "validate", scene.file, "--kubeconfigs"),
                "hub": objects_of(scene.hub),
            }
            await ends_after_a_wrong_file(scene, process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            outputs["log"] = await log.rest()
        outputs["journal"] = (tmp_path / "journal.db").read_bytes().decode("latin-1")
        outputs["traces"] = "\n".join(map(str, scene.collector.spans))
    assert "password" in outputs["validate"]
    assert "file-password" in outputs["doctor"]
    assert "Traceback" not in "".join(outputs.values())
    expect_no_secret_in(outputs)


async def test_nor_from_a_shadow(tmp_path: Path) -> None:
    async with planted(tmp_path, "json") as scene:
        scene.sections["shadow"] = {"enabled": True}
        process = await start(tmp_path, **scene.sections)
        log = Log(process)
        outputs: dict[str, str] = {}
        try:
            await log.tells(*(name for name in scene.names if name not in ("good", "lines")))
            asked = ("--socket", str(tmp_path / "api.sock"))
            outputs |= {
                "http": await answered(log.address()),
                "report": await printed("shadow", "report", *asked, "-o", "json"),
                "status": await printed("status", "workers", *asked, "-o", "json"),
            }
            await ends_after_a_wrong_file(scene, process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            outputs["log"] = await log.rest()
    assert "problems" in outputs["report"]
    expect_no_secret_in(outputs)


def job_of_a_user() -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": "planned", "namespace": NAMESPACE, "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}}


class Log:
    """What a process says, read as it comes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.text = ""

    async def tells(self, *words: str) -> None:
        assert self._process.stderr is not None
        async with asyncio.timeout(120):
            while not all(word in self.text for word in words):
                line = (await self._process.stderr.readline()).decode()
                assert line, self.text
                self.text += line

    def address(self) -> str:
        (place,) = {word for word in self.text.replace('"', "'").split("'") if word.startswith("127.0.0.1:")}
        return place

    async def rest(self) -> str:
        _, rest = await ended(self._process)
        return self.text + rest


def register(hub: LocalCluster, documents: dict[str, str]) -> None:
    """Make every kubeconfig the Secret of a MultiKueueCluster too, all of one check."""
    for name, document in documents.items():
        data = {"kubeconfig": base64.b64encode(document.encode()).decode()}
        secret = {"metadata": {"name": name, "namespace": SYSTEM}, "data": data}
        hub.store.create(hub.store.kind("secrets"), secret, SYSTEM)
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        cluster = {"metadata": {"name": name}, "spec": {"clusterSource": source}}
        hub.store.create(hub.store.kind("multikueueclusters", KUEUE), cluster)
    config = {"metadata": {"name": CONFIG}, "spec": {"clusters": sorted(documents)}}
    hub.store.create(hub.store.kind("multikueueconfigs", KUEUE), config)
    parameters = {"apiGroup": KUEUE, "kind": "MultiKueueConfig", "name": CONFIG}
    spec = {"controllerName": "multikueue-turnstile.dev/orchestrator", "parameters": parameters}
    hub.store.create(hub.store.kind("admissionchecks", KUEUE), {"metadata": {"name": CHECK}, "spec": spec})
