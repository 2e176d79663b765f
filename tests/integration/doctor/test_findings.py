"""Each thing that the doctor looks for, made on a local cluster, and the sentence that it says."""

import asyncio
import base64
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from config.api.meta import ObjectKey
from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from gates.diagnosis.capabilities import GATES_UNKNOWN, gates_ignored
from gates.diagnosis.finding import Finding, Topic
from gates.diagnosis.objects import names_taken, namespace_missing, queue_missing
from gates.model.texts import GATES_NOT_KNOWN_YET
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import Partition
from localcluster.store.write_options import WriteOptions
from tests.integration.doctor.wards import (
    allowing,
    change_kubeconfig,
    examined,
    findings,
    grants_of,
    token_until,
    told,
    ward,
)
from tests.integration.orchestrator.forecasting import give, queue
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj, job, workload
from tests.integration.orchestrator.rivals import hub as hub_named
from tests.integration.orchestrator.rivals import kueue_writes_as_itself
from tests.integration.orchestrator.world import CHECK, ORIGIN, SYSTEM, World, running, world
from tests.support.virtual_time import VirtualClock

WORKER_ROLES = ("worker.yaml", "worker-forecasts.yaml", "worker-kueue.yaml")


async def test_on_healthy_clusters_nothing_is_found(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2", limited={"w1": allowing(grants_of(*WORKER_ROLES))}) as made:
        found = await examined(made)
        assert told(found.findings) == []
        assert found.clusters == ("hub", "w1", "w2")
        assert found.hub_answers


# --- the way to a cluster


def wrong_authority(made: World) -> None:
    authority = made["w2"].local.ca_file.read_bytes()
    change_kubeconfig(made, "w1", "cluster", **{"certificate-authority-data": base64.b64encode(authority).decode()})


def wrong_name(made: World) -> None:
    change_kubeconfig(made, "w1", "cluster", **{"tls-server-name": "other.example"})


def wrong_token(made: World) -> None:
    change_kubeconfig(made, "w1", "user", token="nobody-s-token")


def ended_token(made: World) -> None:
    change_kubeconfig(made, "w1", "user", token=token_until(made.clock.now_ns() / 1e9 - 60))


def ending_token(made: World) -> None:
    change_kubeconfig(made, "w1", "user", token=token_until(made.clock.now_ns() / 1e9 + 3 * 24 * 3600))


def no_kubeconfig(made: World) -> None:
    made.hub.change("secrets", "w1", lambda secret: secret.update(data={"other": "eA=="}), namespace=SYSTEM)


def another_port(made: World) -> None:
    change_kubeconfig(made, "w1", "cluster", server="https://127.0.0.1:1")


UNACCEPTED = "cluster w1: get /apis/kueue.x-k8s.io: Unauthorized"
WAYS: dict[str, tuple[Callable[[World], None], list[tuple[Topic, str]]]] = {
    "an address where nothing listens": (
        another_port,
        [
            (
                Topic.REACHABILITY,
                "https://127.0.0.1:1 cannot be reached: Connect call failed ('127.0.0.1', 1)",
            )
        ],
    ),
    "the authority of another cluster": (
        wrong_authority,
        [
            (
                Topic.TLS,
                "the certificate of {server} is not signed by the authority in the kubeconfig: "
                "unable to get local issuer certificate",
            )
        ],
    ),
    "a certificate for another name": (
        wrong_name,
        [
            (
                Topic.TLS,
                "the certificate of {server} is for another name: "
                "Hostname mismatch, certificate is not valid for 'other.example'.",
            )
        ],
    ),
    "a token that is not accepted": (wrong_token, [(Topic.TOKEN, UNACCEPTED)]),
    "a token that has ended": (
        ended_token,
        [(Topic.TOKEN, "the token expired at 2025-06-15T15:05:40Z"), (Topic.TOKEN, UNACCEPTED)],
    ),
    "a token that ends soon": (
        ending_token,
        [(Topic.TOKEN, "the token expires at 2025-06-18T15:06:40Z, in 3 days"), (Topic.TOKEN, UNACCEPTED)],
    ),
    "a Secret without a kubeconfig": (
        no_kubeconfig,
        [
            (
                Topic.KUBECONFIG,
                'load client config failed: key "kubeconfig" not found in secret "w1" (BadKubeConfig)',
            )
        ],
    ),
}


@pytest.mark.parametrize(("do", "want"), WAYS.values(), ids=WAYS)
async def test_the_way_to_a_worker(tmp_path: Path, do: Callable[[World], None], want: list[tuple[Topic, str]]) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        do(made)
        found = await findings(made)
        server = made["w1"].local.url
        assert [(each.topic, each.message) for each in found] == [
            (topic, message.format(server=server)) for topic, message in want
        ]
        assert all(each.cluster == "w1" and each.remedy for each in found)
        assert made["w1"].local.token not in repr(found)


async def test_a_worker_that_does_not_answer_hides_no_other(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made["w2"].delete("localqueues", "main", KUEUE)
        await made["w1"].local.partition(Partition.BLACK_HOLE)
        examination = asyncio.create_task(findings(made))
        while not examination.done():
            await made.clock.advance(1)
            await asyncio.sleep(0.01)
        assert told(examination.result()) == [
            ("w1", "error", f"{made['w1'].local.url} does not answer: no handshake within 10 s"),
            ("w2", "error", queue_missing(ObjectKey("team", "main"))),
        ]
        await made["w1"].local.heal()


async def test_a_certificate_that_ends_soon(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        ends = x509.load_pem_x509_certificate(made["w1"].local.ca_file.read_bytes()).not_valid_after_utc
        clock = VirtualClock(int((ends - timedelta(days=3)).timestamp()) * 1_000_000_000)
        found = [each for each in await findings(made, clock) if each.topic is Topic.TLS and each.cluster == "w1"]
        stamp = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert told(found) == [
            ("w1", "warning", f"the authority in the kubeconfig expires at {stamp}, in 3 days"),
            ("w1", "warning", f"the API server's certificate expires at {stamp}, in 3 days"),
        ]


# --- what a cluster allows and serves


async def test_a_verb_that_is_taken_away_is_found_by_name(tmp_path: Path) -> None:
    left = [grant for grant in grants_of(*WORKER_ROLES) if grant != ("kueue.x-k8s.io", "workloads/status", "patch")]
    async with ward(tmp_path, "w1", limited={"w1": allowing(left)}) as made:
        (found,) = await findings(made)
        assert found == Finding(
            "w1",
            Topic.PERMISSIONS,
            found.severity,
            "it does not allow patch on workloads.kueue.x-k8s.io/status",
            "apply deploy/rbac/worker.yaml there, or grant these verbs",
        )
        assert str(found.severity) == "error"


async def test_without_the_role_for_forecasts_there_are_warnings(tmp_path: Path) -> None:
    grants = grants_of("worker.yaml", "worker-kueue.yaml")
    async with ward(tmp_path, "w1", limited={"w1": allowing(grants)}) as made:
        found = await findings(made)
        assert {str(each.severity) for each in found} == {"warning"}
        assert (
            "w1",
            "warning",
            "it does not allow get, list, watch on clusterqueues.kueue.x-k8s.io",
        ) in told(found)
        made.options["forecast"] = {"enabled": False}
        assert await findings(made) == []


async def test_without_the_role_for_its_kueue_there_are_warnings_unless_its_version_is_configured(
    tmp_path: Path,
) -> None:
    limited = {"w1": allowing(grants_of("worker.yaml", "worker-forecasts.yaml"))}
    async with ward(tmp_path, "w1", limited=limited) as made:
        found = await findings(made)
        assert [(str(each.severity), each.remedy) for each in found] == [
            ("warning", "apply deploy/rbac/worker-kueue.yaml there, or grant these verbs")
        ] * 2
        assert [each.message for each in found] == [
            "it does not allow get on deployments.apps kueue-controller-manager",
            "it does not allow get on configmaps kueue-manager-config",
        ]
        made.options["workers"] = [{"name": "w1", "kueue_version": "v0.20.1"}]
        assert await findings(made) == []


async def test_pods_are_asked_about_where_they_are_forecast(tmp_path: Path) -> None:
    limited = {"w1": allowing(grants_of(*WORKER_ROLES))}
    async with ward(tmp_path, "w1", limited=limited) as made:
        assert await findings(made) == []
        made.options["workers"] = [{"name": "w1", "pod_forecast": True}]
        found = await findings(made)
        assert {str(each.severity) for each in found} == {"warning"}
        assert ("w1", "warning", "it does not allow get, list, watch on pods") in told(found)
        assert found[0].remedy == "apply deploy/rbac/worker-pod-forecasts.yaml there, or grant these verbs"


async def test_topologies_are_asked_about_where_they_are_followed(tmp_path: Path) -> None:
    limited = {"w1": allowing(grants_of(*WORKER_ROLES))}
    async with ward(tmp_path, "w1", limited=limited) as made:
        made.options["workers"] = [{"name": "w1", "topology": True}]
        found = await findings(made)
        assert ("w1", "warning", "it does not allow get, list, watch on topologies.kueue.x-k8s.io") in told(found)
        assert found[0].remedy == "apply deploy/rbac/worker-topology.yaml there, or grant these verbs"


async def test_a_worker_without_kueue(tmp_path: Path) -> None:
    kinds = tuple(kind for kind in all_kinds() if kind.group != KUEUE)
    async with world(tmp_path, "w1", kinds={"w1": kinds}, forecast={"enabled": True}) as made:
        assert told(await findings(made)) == [
            ("w1", "error", "it does not serve kueue.x-k8s.io: Kueue is not installed")
        ]


async def test_a_kind_of_job_that_only_the_hub_has(tmp_path: Path) -> None:
    kinds = tuple(kind for kind in all_kinds() if (kind.group, kind.plural) != ("batch", "jobs"))
    async with ward(tmp_path, "w1", kinds={"w1": kinds}) as made:
        assert told(await findings(made)) == [
            (
                "w1",
                "warning",
                "it does not serve batch/v1, Kind=Job, which the hub does: such jobs never go there",
            )
        ]


async def test_a_worker_whose_kueue_is_too_old_for_gates(tmp_path: Path) -> None:
    kinds = {"w1": all_kinds(preemption_gates=False)}
    async with ward(tmp_path, "w1", kinds=kinds) as made:
        for policy, severity in (("sequential", "warning"), ("exclude", "warning"), ("allow", "error")):
            made.options["workers"] = [{"name": "w1", "gates_unsupported": policy}]
            told_so = f"{GATES_UNKNOWN} (workers[].gatesUnsupported is {policy})"
            assert told(await findings(made)) == [("w1", severity, told_so)]


async def test_before_anything_is_submitted_it_says_that_gates_are_not_known_to_be_honoured(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", kinds={"w1": all_kinds(v1beta1=True)}, workers=[]) as made:
        (found,) = await findings(made)
        assert (found.cluster, str(found.severity), found.topic) == ("w1", "warning", Topic.GATES)
        assert found.message == f"{GATES_NOT_KNOWN_YET} (workers[].gatesUnsupported is sequential)"
        assert "MultiKueueOrchestratedPreemption" in found.remedy


async def test_a_worker_whose_kueue_ignores_gates_is_known_by_our_copies(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", kinds={"w2": all_kinds(v1beta1=True)}) as made:
        made["w2"].shows_gates = False
        made.queue()
        await made.until(lambda: made.holders() == ["w1", "w2"])
        await made.settled()
        (early,) = [each for each in await findings(made) if each.topic is Topic.GATES]
        assert (early.cluster, early.message.startswith(GATES_NOT_KNOWN_YET)) == ("w2", True), "too early to tell"
        await made.pass_time(40)
        assert told(each for each in await findings(made) if each.topic is Topic.GATES) == [
            ("w2", "warning", f"{gates_ignored(1)} (workers[].gatesUnsupported is sequential)")
        ]


async def test_a_clock_that_is_off(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made["w1"].clock.skew = timedelta(seconds=-90)
        (found,) = await findings(made)
        assert (found.cluster, str(found.severity), found.topic) == ("w1", "warning", Topic.CLOCK)
        assert found.message in ("its clock is 90 s behind this machine's", "its clock is 89 s behind this machine's")


# --- objects that do not fit together


async def test_queues_that_are_missing_on_a_worker(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2", "w3") as made:
        made["w1"].delete("localqueues", "main", KUEUE)
        made["w2"].delete("localqueues", "main", KUEUE)
        made["w2"].delete("namespaces", NAMESPACE, namespace="")
        stopped = [{"type": "Active", "status": "False", "reason": "Stopped", "message": "LocalQueue is stopped"}]
        stopped[0]["lastTransitionTime"] = made.hub.now()
        made["w3"].change_status("localqueues", "main", lambda status: status.update(conditions=stopped), KUEUE)
        assert told(await findings(made)) == [
            ("w1", "error", queue_missing(ObjectKey("team", "main"))),
            ("w2", "error", namespace_missing("team", ["main"])),
            ("w3", "warning", "LocalQueue team/main is not active there: LocalQueue is stopped"),
        ]


async def test_namesakes_of_others_are_found(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made.queue()
        made["w1"].create("workloads", workload(), KUEUE, NAMESPACE)
        made["w2"].create("jobs", job("job-wl"), "batch", NAMESPACE)
        made["w2"].create("jobs", job("another"), "batch", NAMESPACE)
        assert told(await findings(made)) == [
            (
                "w1",
                "error",
                names_taken("workloads.kueue.x-k8s.io", [ObjectKey("team", "wl")]),
            ),
            (
                "w2",
                "error",
                names_taken("jobs.batch", [ObjectKey("team", "job-wl")]),
            ),
        ]


async def test_copies_of_our_own_are_no_namesakes_and_another_hub_with_our_origin_is_found(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        give(made["w1"], queue())
        made.queue()
        await made.until(lambda: made.holders() == ["w1"])
        assert told(await findings(made)) == []
        other = workload("other")
        other["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] = ORIGIN
        other["metadata"]["annotations"] = {"multikueue-turnstile.dev/hub": "another"}
        made["w1"].create("workloads", other, KUEUE, NAMESPACE)
        assert told(await findings(made)) == [
            ("w1", "error", f"another hub marks its workloads.kueue.x-k8s.io there with this hub's origin {ORIGIN}")
        ]


async def test_a_rival_is_known_by_what_it_wrote(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", hub=hub_named(MULTIKUEUE_NAME)) as made:
        made.queue()
        assert told(await findings(made)) == []
        kueue_writes_as_itself(made, "wl")
        assert told(await findings(made)) == [
            ("hub", "error", "Kueue's own MultiKueue controller serves Turnstile's Workloads: it last wrote team/wl")
        ]


async def test_a_check_that_another_client_wrote_last_is_worth_a_word(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", hub=hub_named(MULTIKUEUE_NAME)) as made:
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "The admission check is active"}
        document = {
            "apiVersion": f"{KUEUE}/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": CHECK},
            "status": {"conditions": [{**active, "lastTransitionTime": made.hub.now()}]},
        }
        kind, options = made.hub.store.kind("admissionchecks", KUEUE), WriteOptions(manager="kueue", force=True)
        made.hub.store.apply(kind, document, CHECK, "", subresource="status", options=options)
        message = f'AdmissionCheck "mk" was last written by kueue at {made.hub.now()}, not by Turnstile'
        assert told(await findings(made)) == [("hub", "warning", message)]


async def test_our_own_name_has_no_rival(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1", hub=hub_named(CONTROLLER_NAME)) as made:
        made.queue()
        kueue_writes_as_itself(made, "wl")
        assert told(await findings(made)) == []


def lead_nowhere(made: World) -> None:
    made.hub.delete("multikueueconfigs", "workers", KUEUE, "")


def list_a_stranger(made: World) -> None:
    made.list_workers("w1", "w9")


def have_no_check(made: World) -> None:
    made.hub.delete("admissionchecks", "mk", KUEUE, "")


CHECKS: dict[str, tuple[Callable[[World], None], tuple[str, str, str]]] = {
    "a check without its configuration": (
        lead_nowhere,
        ("hub", "error", 'AdmissionCheck "mk" cannot be used: there is no MultiKueueConfig "workers"'),
    ),
    "a worker that is not known": (
        list_a_stranger,
        ("hub", "error", 'MultiKueueConfig "workers" names workers that do not exist: w9'),
    ),
    "no check of Turnstile": (
        have_no_check,
        ("hub", "warning", f"no AdmissionCheck has controllerName {CONTROLLER_NAME}: there is nothing to do"),
    ),
}


@pytest.mark.parametrize(("do", "want"), CHECKS.values(), ids=CHECKS)
async def test_checks_that_lead_to_no_worker(
    tmp_path: Path, do: Callable[[World], None], want: tuple[str, str, str]
) -> None:
    async with ward(tmp_path, "w1") as made:
        do(made)
        assert told(await findings(made)) == [want]


async def test_what_is_malformed_on_a_cluster_ends_no_examination(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        odd: Obj = workload("odd")
        odd["metadata"]["annotations"] = {"multikueue-turnstile.dev/out-of-sync": "{"}
        made.hub.create("workloads", odd, KUEUE, NAMESPACE)
        assert told(await findings(made)) == []
