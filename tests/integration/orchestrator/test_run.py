"""`turnstile run` as a process: starts, works, stops when told to, and says in one line why it cannot."""

import asyncio
import json
import signal
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from localcluster.cluster import LocalCluster, Partition
from localcluster.serving.faults import Latency
from manager.journal.claiming import taken_by
from tests.integration.orchestrator.daemon_process import ended, logged, start
from tests.integration.orchestrator.world import SYSTEM
from tests.support.virtual_time import until


async def test_it_runs_until_it_is_told_to_stop(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        process = await start(tmp_path, hub={"kubeconfig": str(hub.kubeconfig_path)}, jobs={"integrations": []})
        lines = await logged(process, "leadership.gained")
        assert lines[0]["event"] == "daemon.started"
        process.send_signal(signal.SIGTERM)
        code, rest = await ended(process)
        assert code == 0
        assert '"daemon.stopped"' in rest
        assert '"leadership.released"' in rest
        assert holder(hub) == ""


async def test_systemd_hears_that_it_is_ready_alive_and_stopping(tmp_path: Path) -> None:
    heard: list[str] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(0.0)
        asyncio.get_running_loop().add_reader(listener, lambda: heard.append(listener.recv(4096).decode()))
        async with LocalCluster("hub", tmp_path) as hub:
            hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
            environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
            sections: dict[str, Any] = {"hub": {"kubeconfig": str(hub.kubeconfig_path)}, "jobs": {"integrations": []}}
            process = await start(tmp_path, environment=environment, **sections)
            await until(lambda: heard.count("WATCHDOG=1") >= 3 and "STATUS=Acting" in heard)
            process.send_signal(signal.SIGTERM)
            assert (await ended(process))[0] == 0
        asyncio.get_running_loop().remove_reader(listener)
    assert heard[0] == "READY=1\nSTATUS=Standing by"
    assert any(message.startswith("STOPPING=1") for message in heard)


async def test_probes_and_prometheus_are_answered(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub, aiohttp.ClientSession(trust_env=False) as session:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        sections: dict[str, Any] = {"hub": {"kubeconfig": str(hub.kubeconfig_path)}, "jobs": {"integrations": []}}
        process = await start(tmp_path, **sections)
        started, *others = await logged(process, "leadership.gained")
        if not any(line["event"] == "hub.connected" for line in others):
            await logged(process, "hub.connected")
        (place,) = started["http"]

        async def get(path: str) -> tuple[int, str]:
            async with session.get(f"http://{place}{path}") as answer:
                return answer.status, await answer.text()

        assert await get("/healthz") == (200, "ok\n")
        assert await get("/readyz") == (200, "ok\n")
        before = (await get("/metrics"))[1]
        assert "turnstile_leader 1.0" in before
        assert 'turnstile_retries_total{operation="journal"} 0.0' in before
        assert (await get("/"))[0] == 404
        status, refusal = await get("/v1/overview")
        assert status == 404
        assert "this daemon answers no questions over HTTP: http.authorization is None; " in refusal
        await hub.partition(Partition.REFUSED)
        await logged(process, "hub.lost")
        status, reason = await get("/readyz")
        assert status == 503
        assert reason.startswith("the hub cannot be read: ")
        after = (await get("/metrics"))[1]
        assert 'turnstile_retries_total{operation="watch"}' in after
        assert 'turnstile_retries_total{operation="watch"} 0.0' not in after
        assert await get("/healthz") == (200, "ok\n")
        process.send_signal(signal.SIGTERM)
        assert (await ended(process))[0] == 0


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with LocalCluster("hub", tmp_path) as hub:
            hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
            sections: dict[str, Any] = {"hub": {"kubeconfig": str(hub.kubeconfig_path)}, "http": {"port": port}}
            code, errors = await ended(await start(tmp_path, **sections))
    assert code == 1
    last = json.loads(errors.splitlines()[-1])
    assert (last["level"], last["event"]) == ("error", "daemon.failed")
    assert last["error"].startswith(f"http.port: 127.0.0.1:{port} cannot be listened on: ")


async def test_a_leader_that_was_stopped_writes_nothing_when_it_wakes(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        sections: dict[str, Any] = {
            "hub": {"kubeconfig": str(hub.kubeconfig_path)},
            "jobs": {"integrations": []},
            "leaderElection": {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "100ms"},
        }
        first = await start(tmp_path, "first", **sections)
        await logged(first, "leadership.gained")
        second = await start(tmp_path, "second", **sections)
        await logged(second, "leadership.standby", lease="turnstile-system/turnstile", holder=holder(hub))
        first.send_signal(signal.SIGSTOP)
        await logged(second, "leadership.gained")
        holding = holder(hub)
        writes = hub.faults.add(Latency(0), plural="leases", verb="patch")
        first.send_signal(signal.SIGCONT)
        code, errors = await ended(first)
        assert code == 1
        last = json.loads(errors.splitlines()[-1])
        assert (last["event"], last["error"].partition(" was ")[0]) == (
            "daemon.failed",
            "the Lease turnstile-system/turnstile",
        )
        await until(lambda: writes.hits)
        assert holder(hub) == holding
        second.send_signal(signal.SIGTERM)
        assert (await ended(second))[0] == 0


def holder(hub: LocalCluster) -> str:
    lease = hub.store.get(hub.store.kind("leases", "coordination.k8s.io"), "turnstile", SYSTEM)
    return str(lease["spec"].get("holderIdentity", ""))


@pytest.mark.parametrize(
    ("sections", "code", "want"),
    [
        ({"gcInterval": "never"}, 2, "gcInterval"),
        ({}, 1, "hub.kubeconfig is not set, and this process does not run in a pod"),
        (
            {"hub": {"kubeconfig": "/nowhere/kubeconfig"}},
            1,
            'hub.kubeconfig: kubeconfig file "/nowhere/kubeconfig"',
        ),
    ],
    ids=["a wrong setting", "no hub", "no such kubeconfig"],
)
async def test_it_says_in_one_line_why_it_cannot_start(
    tmp_path: Path, sections: dict[str, Any], code: int, want: str
) -> None:
    got, errors = await ended(await start(tmp_path, **sections))
    assert got == code
    assert want in errors.replace('\\"', '"')
    assert len(errors.splitlines()) == 1


async def test_a_hub_that_does_not_answer_is_named(tmp_path: Path) -> None:
    async with LocalCluster("hub", tmp_path) as hub:
        kubeconfig = hub.kubeconfig_path
    got, errors = await ended(await start(tmp_path, hub={"kubeconfig": str(kubeconfig)}))
    assert got == 1
    assert json.loads(errors)["error"].startswith(
        "cannot identify the hub (reading namespace kube-system failed): cluster hub: get namespaces kube-system"
    )


async def test_S10_a_daemon_does_not_begin_where_its_socket_would_replace_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("precious")
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        sections: dict[str, Any] = {"hub": {"kubeconfig": str(hub.kubeconfig_path)}, "jobs": {"integrations": []}}
        process = await start(tmp_path, api={"socket": str(tmp_path / "notes")}, **sections)
        code, errors = await ended(process)
        leases = hub.store.list(hub.store.kind("leases", "coordination.k8s.io"), SYSTEM)
    assert code == 2
    assert json.loads(errors.splitlines()[-1])["error"].startswith(
        f"api.socket: {tmp_path}/notes exists and is not a socket; "
    )
    assert "Traceback" not in errors
    assert (tmp_path / "notes").read_text() == "precious"
    assert not [lease for lease in leases if lease["spec"].get("holderIdentity")], "it never became the leader"


async def test_S10_a_second_daemon_leaves_the_socket_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        sections: dict[str, Any] = {
            "hub": {"kubeconfig": str(hub.kubeconfig_path)},
            "jobs": {"integrations": []},
            "api": {"socket": str(path)},
        }
        first = await start(tmp_path, "first", **sections)
        await logged(first, "leadership.gained")
        code, errors = await ended(await start(tmp_path, "second", **sections))
        assert code == 2
        told = json.loads(errors.splitlines()[-1])["error"]
        assert told.startswith(f"api.socket: another daemon (process {first.pid}) answers at {path}; ")
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(path))) as session:
            assert (await session.get("http://daemon/v1/overview")).status == 200
        first.send_signal(signal.SIGTERM)
        assert (await ended(first))[0] == 0
    assert not path.exists()


async def test_a_second_daemon_does_not_write_into_the_journal_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    async with LocalCluster("hub", tmp_path) as hub:
        hub.store.create(hub.store.kind("namespaces"), {"metadata": {"name": SYSTEM}})
        sections: dict[str, Any] = {
            "hub": {"kubeconfig": str(hub.kubeconfig_path)},
            "jobs": {"integrations": []},
            "journal": {"path": str(path)},
        }
        first = await start(tmp_path, "first", **sections, api={"socket": None})
        await logged(first, "leadership.gained")
        code, errors = await ended(await start(tmp_path, "second", **sections, api={"socket": None}))
        assert code == 2
        assert json.loads(errors.splitlines()[-1])["error"] == (
            f"journal.path: {path}: {taken_by(f' (process {first.pid})')}"
        )
        first.send_signal(signal.SIGTERM)
        code, errors = await ended(first)
    assert code == 0
    assert "hub.lost" not in errors, "a connection that is closed at the end is not lost"
