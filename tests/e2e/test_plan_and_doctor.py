"""`turnstile plan` and `turnstile doctor` as processes: a plan comes true; what is sick is found, and nothing else."""

import json
from pathlib import Path

import yaml

from gates.diagnosis.capabilities import gates_ignored
from tests.conformance.client import Obj
from tests.e2e.processes import command
from tests.e2e.scene import Scene

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "rbac"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
FIRST, SECOND = "worker-1", "worker-2"


async def doctor(scene: Scene) -> tuple[int, Obj]:
    return await command("doctor", *configured(scene))


def configured(scene: Scene) -> tuple[str, ...]:
    """Return the options for the daemon's own configuration, with time enough for a machine that is busy."""
    return ("--config", str(scene.directory / "turnstile.yaml"), "--timeout", "120")


async def grant_forecasts(scene: Scene) -> None:
    """Apply the shipped role for forecasts on every worker for the time of the test."""
    documents = list(yaml.safe_load_all((ROLES / "worker-forecasts.yaml").read_text()))
    for worker in scene.workers.values():
        for document in documents:
            path = f"{RBAC}/{document['kind'].lower()}s/{document['metadata']['name']}"
            assert (await worker.api.apply(path, document, "e2e", force="true")).status in (200, 201)
            scene.cleanups.append(lambda worker=worker, path=path: worker.api.delete(path))  # type: ignore[misc]


def told(document: Obj) -> list[tuple[str, str, str]]:
    """Return the findings, without those about gates: v0.19 shows only by its replicas that it honours them."""
    found = (each for each in document["items"] if each["topic"] != "gates")
    return [(each["cluster"], each["severity"], each["message"]) for each in found]


async def test_on_a_healthy_bed_the_doctor_finds_nothing(real_scene: Scene) -> None:
    scene = real_scene
    await scene.build()
    await grant_forecasts(scene)
    await scene.start_turnstile()
    await scene.submit("job", runs=None)
    await scene.until_won("job")
    code, document = await doctor(scene)
    assert (code, told(document)) == (0, [])
    assert document["clusters"] == ["hub", FIRST, SECOND]


async def test_a_verb_that_is_taken_from_the_role_is_found(real_scene: Scene) -> None:
    scene = real_scene
    await scene.build()
    await grant_forecasts(scene)
    await scene.start_turnstile()
    path = f"{RBAC}/clusterroles/turnstile-worker"
    api = scene.workers[FIRST].api
    rules = (await api.get(path)).ok()["rules"]
    left = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb != "delete"]} for rule in rules]
    (await api.patch(path, {"rules": left})).ok()
    try:
        want = [
            (FIRST, "error", "it does not allow delete on workloads.kueue.x-k8s.io"),
            (FIRST, "error", "it does not allow delete on jobs.batch"),
        ]

        async def is_found() -> bool:  # the API server's own cache of roles takes a moment
            code, document = await doctor(scene)
            return (code, told(document)) == (1, want)

        await scene.until(is_found, "the missing verb to be found")
    finally:
        (await api.patch(path, {"rules": rules})).ok()


async def test_a_kueue_without_the_feature_gate_is_found_by_our_copies(scene: Scene) -> None:
    worker = scene.workers[FIRST]
    await worker.restart_kueue(orchestrated=False)
    try:
        await scene.build()
        await scene.start_turnstile()
        await scene.submit("huge", cpu=50)  # fits nowhere, so that its copies stay where they are

        async def is_found() -> bool:
            _, document = await doctor(scene)
            gates = [each for each in document["items"] if each["topic"] == "gates"]
            return any(each["cluster"] == FIRST and each["message"].startswith(gates_ignored(1)) for each in gates)

        await scene.until(is_found, "the Kueue that ignores gates to be found")
    finally:
        await worker.restart_kueue()


async def test_what_is_planned_happens(scene: Scene) -> None:
    """One worker can be made free by preemption, the other is held by an equal; so it is planned, and so it comes."""
    await scene.build()
    await grant_forecasts(scene)
    await scene.occupy(scene.workers[FIRST], "low")
    await scene.occupy(scene.workers[SECOND], "equal", priority="high")
    socket = scene.directory / "api.sock"
    await scene.start_turnstile(api={"socket": str(socket)})
    file = scene.directory / "job.json"
    job = scene.job("high", priority="high")
    job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    file.write_text(json.dumps(job))
    without_daemon = await planned(scene, file)
    assert verdicts(without_daemon) == {FIRST: "Preempts", SECOND: "Cannot"}
    (victim,) = without_daemon["workers"][0]["victims"]
    assert (victim["owner"], victim["priority"], victim["reason"]) == ("Job low", 100, "InClusterQueue")
    assert without_daemon["chosen"]["worker"] == FIRST

    async def agrees() -> bool:
        return verdicts(await planned(scene, file, socket)) == verdicts(without_daemon)

    await scene.until(agrees, "the daemon to know its workers and to plan the same")

    await scene.submit("high", priority="high", runs=1)
    winner = await scene.until_won("high")
    assert winner.name == without_daemon["chosen"]["worker"]
    assert await scene.was_evicted(scene.workers[FIRST], "low")
    assert not await scene.was_evicted(scene.workers[SECOND], "equal")


def verdicts(plan: Obj) -> dict[str, str]:
    return {each["name"]: each["verdict"] for each in plan["workers"]}


async def planned(scene: Scene, file: Path, socket: Path | None = None) -> Obj:
    """Ask the clusters, or the daemon behind a socket."""
    asked = configured(scene) if socket is None else ("--socket", str(socket))
    _, plan = await command("plan", "-f", str(file), "-n", scene.name, *asked)
    return plan
