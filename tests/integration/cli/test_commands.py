"""The commands beside a running daemon: on its socket, on an address, and from the hub where no daemon answers."""

import asyncio
import json
from pathlib import Path

import yaml
from typer.testing import CliRunner

from config.names import CONFIG_API_VERSION, CONFIG_FILE_VARIABLE, CONFIG_KIND
from manager.cli.app import app
from manager.cli.conventions.output import API_VERSION
from tests.integration.orchestrator.world import World, running
from tests.screens.camera import Camera, beside
from tests.support.document_keys import misspelt_keys


def without_daemon(made: World, directory: Path) -> Camera:
    """Return a camera for which no daemon is there."""
    hub = ("--kubeconfig", str(made.hub.local.kubeconfig_path), "--socket", str(directory / "none"))
    return Camera(directory, hub)


async def asked(made: World, name: str = "wl") -> None:
    """Submit a Workload and let w1 ask for its gate, which is opened."""
    made.queue(name)
    await made.until(lambda: made["w1"].has_workload(name) and made["w2"].has_workload(name))
    made["w1"].block(name)
    await made.until(lambda: made["w1"].gate(name) == "Open")
    await made.settled()


async def test_a_job_leads_to_its_workload(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        made.queue("wl")
        await made.settled()
        async with beside(made, tmp_path) as camera:
            for subject in (("job/job-wl", "-n", "team"), ("job/team/job-wl",), ("wl", "-n", "team"), ("team/wl",)):
                done = await camera.run("explain", *subject)
                assert (done.returncode, done.stdout.splitlines()[0]) == (0, "Workload team/wl (Job job-wl)")
            done = await camera.run("explain", "job/nobody", "-n", "team")
            assert (done.returncode, done.stdout) == (
                2,
                "error: there is no Workload of Job team/nobody on the hub; "
                "does the job exist, and does it have a queue?\n",
            )


async def test_an_open_gate_is_listed_and_explained(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        await asked(made)
        async with beside(made, tmp_path) as camera:
            gates = json.loads((await camera.run("status", "gates", "-A", "-o", "json")).stdout)
            assert (gates["apiVersion"], gates["kind"], gates["source"]) == (API_VERSION, "GateList", "daemon")
            assert [(gate["worker"], gate["gate"]) for gate in gates["items"]] == [("w1", "Open"), ("w2", "Closed")]
            assert gates["items"][0]["windowEnds"] > gates["items"][0]["opened"] == gates["asOf"]
            explanation = (await camera.run("explain", "team/wl")).stdout
            assert f"gate      open on w1 since {gates['asOf']}, its window ends at " in explanation
            overview = yaml.safe_load((await camera.run("status", "-o", "yaml")).stdout)
            assert (overview["kind"], overview["gates"]) == ("Overview", {"Closed": 1, "Open": 1})
            assert overview["daemon"]["acts"] is True


async def test_all_documents_of_the_daemon_and_of_the_hub_are_camel_case(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        await asked(made)
        subjects = ((), ("workers",), ("workloads", "-A"), ("gates", "-A"), ("forecasts", "-A"))
        commands = [*(("status", *subject) for subject in subjects), ("explain", "team/wl"), ("timeline", "team/wl")]
        async with beside(made, tmp_path) as camera:
            for source, place in (("daemon", camera), ("hub", without_daemon(made, tmp_path))):
                for command in commands:
                    told = (await place.run(*command, "-o", "json")).stdout
                    document = json.loads(told[told.index("{\n") :])
                    assert (document["apiVersion"], document["source"]) == (API_VERSION, source)
                    assert list(misspelt_keys(document)) == [], command


async def test_a_namespace_is_that_of_the_context_unless_all_are_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        made.queue("wl")
        await made.settled()
        async with beside(made, tmp_path) as camera:
            names = ("status", "workloads", "-o", "name")
            assert (await camera.run(*names)).stdout == "workload.kueue.x-k8s.io/wl\n", "no kubeconfig: all"
            assert (await camera.run(*names, "-n", "other")).stdout == ""
            context = {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "other"}}
            (tmp_path / ".kube").mkdir()
            (tmp_path / ".kube" / "config").write_text(json.dumps({"current-context": "c", "contexts": [context]}))
            assert (await camera.run(*names)).stdout == ""
            assert (await camera.run(*names, "-A")).stdout == "workload.kueue.x-k8s.io/wl\n"
            nothing = await camera.run("status", "workloads")
            assert nothing.stdout == "no Workload with one of Turnstile's admission checks is waiting or running here\n"


async def test_the_hub_answers_where_no_daemon_does(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        await asked(made)
        camera = without_daemon(made, tmp_path)
        notice = f"no daemon answers on {tmp_path}/none (No such file or directory); showing the hub's view (context "
        seen = {}
        for subject in ("workers", "workloads", "gates", "forecasts"):
            done = await camera.run("status", subject, "-A", "-o", "json")
            first, _, document = done.stdout.partition("\n")
            assert (done.returncode, first.startswith(notice)) == (0, True), done.stdout
            seen[subject] = json.loads(document)
            assert seen[subject]["source"] == "hub"
        assert [(each["name"], each["connection"]) for each in seen["workers"]["items"]] == [
            ("w1", "Connected"),
            ("w2", "Connected"),
        ]
        (workload,) = seen["workloads"]["items"]
        assert (workload["name"], workload["phase"], workload["gate"]) == ("wl", "Pending", "w1")
        assert [(gate["worker"], gate["gate"]) for gate in seen["gates"]["items"]] == [("w1", "Open")]
        assert seen["forecasts"]["items"] == []
        explanation = (await camera.run("explain", "job/job-wl", "-n", "team")).stdout.splitlines()
        assert explanation[0].startswith(notice)
        assert explanation[1:3] == [
            "Workload team/wl (Job job-wl)",
            "queue     LocalQueue main, ClusterQueue cq, for 0s",
        ]
        assert "gate      open on w1 since " in "\n".join(explanation)
        told = (await camera.run("timeline", "team/wl")).stdout
        assert (
            "showing only what the hub's object says: the daemon keeps the journal, and does not answer; "
            "--journal FILE reads it, or a copy of it\n"
        ) in told
        assert [line.split()[2] for line in told.splitlines()[3:]] == ["Created", "QuotaReserved", "GateOpened"]
        assert (await camera.run("status")).stdout.splitlines()[1:3] == [
            "daemon     does not answer",
            "workers    2 of 2 connected",
        ]


async def test_the_configuration_says_which_journal_to_read_where_no_daemon_answers(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("wl")
        await made.settled()
        file = tmp_path / "turnstile.yaml"
        document = {"apiVersion": CONFIG_API_VERSION, "kind": CONFIG_KIND, "journal": {"path": "/var/lib/j.db"}}
        file.write_text(json.dumps(document))
        runner = CliRunner(env={"HOME": "/none", "KUBECONFIG": "", CONFIG_FILE_VARIABLE: str(file)})
        hub = ("--kubeconfig", str(made.hub.local.kubeconfig_path), "--socket", str(tmp_path / "none"))
        result = await asyncio.to_thread(runner.invoke, app, ["timeline", "team/wl", *hub])
        assert result.exit_code == 0
        want = f"the daemon does not answer; its journal is /var/lib/j.db by {file}: --journal /var/lib/j.db reads it"
        assert result.stderr.splitlines()[-1] == f"showing only what the hub's object says: {want}"


async def test_what_the_hub_does_not_have_is_one_sentence(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        camera = without_daemon(made, tmp_path)
        done = await camera.run("explain", "team/nobody")
        assert done.returncode == 2
        assert done.stdout.splitlines()[1:] == ["error: there is no Workload team/nobody on the hub"]
        await made.stop()
        await made.hub.local.stop()
        done = await camera.run("status", "workers")
        assert done.returncode == 3
        assert len(done.stdout.splitlines()) == 2
        assert done.stdout.splitlines()[1].startswith("error: cluster hub: list multikueueclusters.kueue.x-k8s.io: ")
        assert done.stdout.endswith("; check --context, the network and the user's permissions\n")


async def test_text_of_a_cluster_moves_no_cursor(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("wl")
        await made.settled()
        bad = "\x1b[2J\x1b]0;owned\x07 two\nlines \u202e"
        made["w1"].set_condition("wl", "QuotaReserved", status="False", reason="Pending", message=bad)
        await made.settled()
        async with beside(made, tmp_path) as camera:
            screen = (await camera.run("explain", "team/wl")).stdout
            assert "\\x1b[2J\\x1b]0;owned\\x07 two\\nlines \\u202e" in screen
            for form in ("table", "wide", "json", "yaml"):
                screen = (await camera.run("explain", "team/wl", "-o", form)).stdout
                assert screen.replace("\n", "").isprintable()


async def test_finished_workloads_are_listed_if_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue("wl")
        await made.settled()
        made.hub.finish("wl")
        await made.settled()
        async with beside(made, tmp_path) as camera:
            for place in (camera, without_daemon(made, tmp_path)):
                listed = (await place.run("status", "workloads", "-A", "-o", "name")).stdout
                assert "workload.kueue.x-k8s.io/wl" not in listed
                told = (await place.run("status", "workloads", "-A", "--finished", "-o", "json")).stdout
                (item,) = json.loads(told[told.index("{\n") :])["items"]
                assert (item["name"], item["phase"]) == ("wl", "Finished")


async def test_the_socket_is_that_of_the_environment_or_of_the_configuration(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made, beside(made, tmp_path) as camera:
        socket = camera.hidden[1]
        configuration = tmp_path / "turnstile.yaml"
        head = {"apiVersion": "config.multikueue-turnstile.dev/v1alpha1", "kind": "Configuration"}
        configuration.write_text(json.dumps({**head, "api": {"socket": socket}}))
        asking = Camera(tmp_path, ("--config", str(configuration)))
        assert (await asking.run("status")).stdout.startswith("daemon     0.1.0 acts for ")
        asking = Camera(tmp_path, variables={"TURNSTILE_SOCKET": socket})
        assert (await asking.run("status")).stdout.startswith("daemon     0.1.0 acts for ")
