"""The shipped roles of a shadow: enough to see everything, and each verb that is taken away is missed by name."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog
import yaml
from typer.testing import CliRunner, Result

from config.api.meta import ObjectKey
from config.sections.settings import Configuration
from gates.upkeep.leadership import LeaseTimings
from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from manager.cli.app import app
from manager.election.leadership import Elector
from manager.models.model_watches import FOLLOWED_KINDS
from manager.serving.socket_server import serve_api
from manager.shadow.daemon import ShadowDaemon
from manager.shadow.episode_log import EpisodeLog
from manager.shadow.problems import problems
from manager.shadow.service import with_own_lease
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import steady
from tests.support.clusters import access_to
from tests.support.virtual_time import VirtualClock, until
from tests.support.worker_names import W1
from workerclient.cluster import ClientContext, ClusterClient

RBAC = Path(__file__).resolve().parents[3] / "deploy" / "rbac"
SYSTEM = "turnstile-system"
Grant = tuple[str, str, str, str]
"""File, group, resource, verb."""


def rules(*files: str, without: Grant | None = None) -> tuple[Allow, ...]:
    """Return what roles allow, but for one verb on one resource."""
    found = []
    for file in files:
        for role in yaml.safe_load_all((RBAC / file).read_text()):
            namespaces = (SYSTEM,) if role["kind"] == "Role" else ()
            for rule in role.get("rules", ()):
                names = tuple(rule.get("resourceNames", ()))
                found += [
                    Allow((verb,), (resource,), (group,), namespaces=namespaces, names=names)
                    for group in rule["apiGroups"]
                    for resource in rule["resources"]
                    for verb in rule["verbs"]
                    if (file, group, resource, verb) != without
                ]
    return (*found, Allow(("get",), paths=("/openapi/*", "/api*")))


def grants(*files: str) -> list[Grant]:
    """Return every verb on every resource."""
    return [
        (file, group, resource, verb)
        for file in files
        for role in yaml.safe_load_all((RBAC / file).read_text())
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def test_a_worker_grants_reading_what_forecasts_are_made_of_and_nothing_else() -> None:
    found = {(group, resource) for _, group, resource, _ in grants("shadow-worker.yaml")}
    assert found == {(kind.group, kind.plural) for kind in FOLLOWED_KINDS}
    assert {verb for *_, verb in grants("shadow-worker.yaml")} == {"list", "watch"}


def test_on_the_hub_nothing_is_written_but_the_lease() -> None:
    writing = [
        (resource, verb) for _, _, resource, verb in grants("shadow.yaml") if verb not in ("get", "list", "watch")
    ]
    assert sorted(writing) == [("leases", "create"), ("leases", "patch")]


@dataclass
class Stage:
    """A hub and a worker with one account for each verb that may be missing, and one with everything."""

    hub: LocalCluster
    worker: LocalCluster
    clock: VirtualClock = field(default_factory=VirtualClock)

    @asynccontextmanager
    async def shadow(self, without: Grant | None) -> AsyncIterator[ShadowDaemon]:
        """Run a shadow with the shipped roles, but for one verb."""
        clock = self.clock = VirtualClock()
        text = self.worker.kubeconfig_path.read_text().replace(self.worker.token, token_without(without, "worker"))
        data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
        create(self.hub, "secrets", {"metadata": {"name": "w1"}, "data": data}, namespace=SYSTEM)
        access = replace(access_to(self.hub), token=token_without(without, "hub"), client_certificate=None)
        client_context = ClientContext(clock, steady)
        voter = ClusterClient("hub", access, client_context)
        elector = Elector(voter, ObjectKey(SYSTEM, "turnstile-shadow"), "the shadow", LeaseTimings(), clock, steady)
        daemon = ShadowDaemon(configuration(), access, client_context, EpisodeLog(), elector)
        task = asyncio.create_task(daemon.run())
        try:
            yield daemon
        finally:
            task.cancel()
            await asyncio.wait([task])
            await voter.close()
            for plural, group, name in (("secrets", "", "w1"), ("leases", "coordination.k8s.io", "turnstile-shadow")):
                kind = self.hub.store.kind(plural, group)
                if self.hub.store.collection(kind).get((SYSTEM, name)) is not None:
                    self.hub.store.delete(kind, name, SYSTEM)


def token_without(grant: Grant | None, cluster: str) -> str:
    return "-".join(("token", cluster, *(grant or ("everything",))))


@asynccontextmanager
async def stage(directory: Path) -> AsyncIterator[Stage]:
    """Run the clusters."""
    users = {
        cluster: [
            TokenUser("shadow", token_without(grant, cluster), rules=rules(file, without=grant))
            for grant in (None, *grants("shadow.yaml", "shadow-worker.yaml"))
        ]
        for cluster, file in (("hub", "shadow.yaml"), ("worker", "shadow-worker.yaml"))
    }
    async with (
        LocalCluster("hub", directory, users=users["hub"]) as hub,
        LocalCluster("w1", directory, users=users["worker"]) as worker,
    ):
        create(hub, "namespaces", {"metadata": {"name": SYSTEM}})
        source = {"kubeConfig": {"location": "w1", "locationType": "Secret"}}
        create(hub, "multikueueclusters", {"metadata": {"name": "w1"}, "spec": {"clusterSource": source}}, KUEUE)
        yield Stage(hub, worker)


def configuration() -> Configuration:
    return Configuration(
        api_version="config.multikueue-turnstile.dev/v1alpha1", kind="Configuration", hub={"namespace": SYSTEM}
    )


def create(cluster: LocalCluster, plural: str, document: dict[str, Any], group: str = "", namespace: str = "") -> None:
    cluster.store.create(cluster.store.kind(plural, group), document, namespace)


def is_complete(daemon: ShadowDaemon) -> bool:
    link = daemon.fleet.links.get(W1)
    observation = link.observation if link is not None else None
    return daemon.elected.is_set() and observation is not None and observation.is_complete


async def test_the_shipped_roles_are_enough(tmp_path: Path) -> None:
    async with stage(tmp_path) as made, made.shadow(None) as daemon:
        await until(lambda: is_complete(daemon))
        assert problems(daemon.hub, daemon.fleet, "") == []
        assert daemon.unready() == ""


async def test_each_verb_that_is_taken_away_is_missed_by_name(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        for missing in grants("shadow.yaml", "shadow-worker.yaml"):
            with structlog.testing.capture_logs() as logs:
                async with made.shadow(missing) as daemon:
                    await assert_missed(made.clock, daemon, missing, logs)


async def assert_missed(
    clock: VirtualClock, daemon: ShadowDaemon, missing: Grant, logs: Sequence[Mapping[str, Any]]
) -> None:
    file, group, resource, verb = missing
    named = f"{verb} {resource}.{group}" if group else f"{verb} {resource}"

    def said() -> bool:
        told = [each.message for each in problems(daemon.hub, daemon.fleet, "")]
        told += [str(entry.get("error", "")) for entry in logs]
        return any(named in each and "forbidden" in each for each in told)

    if (resource, verb) == ("leases", "patch"):  # the Lease is made at once, and renewed later
        await until(daemon.elected.is_set)
        await renewal_refused(clock, said)
        return
    await until(said)
    if resource != "leases" and (resource, verb) != ("secrets", "get"):
        (problem, *_) = [each for each in problems(daemon.hub, daemon.fleet, "") if named in each.message]
        assert file in problem.remedy


async def renewal_refused(clock: VirtualClock, said: Callable[[], object]) -> None:
    for _ in range(10):
        await clock.advance(0.5)
        if said():
            return
    await until(said)


async def test_a_shadow_without_its_lease_says_that_it_observes_nothing(tmp_path: Path) -> None:
    (missing,) = [grant for grant in grants("shadow.yaml") if grant[2:] == ("leases", "create")]
    async with stage(tmp_path) as made, made.shadow(missing) as daemon:
        await until(lambda: "forbidden" in reported(daemon)["problems"][0]["message"])
        assert reported(daemon)["observes"] is False
        result = await asked(daemon, tmp_path / "s")
        assert result.exit_code == 3
        (first, *_, last) = result.stdout.splitlines()
        assert first.startswith("error: this shadow observes nothing: cluster hub: create leases.coordination.k8s.io ")
        assert "apply deploy/rbac/shadow.yaml" in first
        assert last == "nothing was observed"


async def test_a_shadow_that_stands_by_names_the_one_that_observes(tmp_path: Path) -> None:
    async with stage(tmp_path) as made:
        now = datetime.fromtimestamp(made.clock.now_ns() / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": now, "acquireTime": now}
        create(
            made.hub, "leases", {"metadata": {"name": "turnstile-shadow"}, "spec": spec}, "coordination.k8s.io", SYSTEM
        )
        async with made.shadow(None) as daemon:
            want = 'the Lease turnstile-system/turnstile-shadow is held by "another"'
            await until(lambda: [each["message"] for each in reported(daemon)["problems"][:1]] == [want])


async def test_a_shadow_that_observes_ends_with_0(tmp_path: Path) -> None:
    async with stage(tmp_path) as made, made.shadow(None) as daemon:
        await until(lambda: is_complete(daemon))
        result = await asked(daemon, tmp_path / "s")
        assert (result.exit_code, result.stdout) == (0, "no worker has been allowed to preempt yet\n")


def reported(daemon: ShadowDaemon) -> dict[str, Any]:
    make = daemon.inspector.shadow()
    assert make is not None
    return make()


async def asked(daemon: ShadowDaemon, socket: Path) -> Result:
    """Run `shadow report` beside a shadow."""
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(serve_api(socket, daemon.inspector))
        await until(socket.is_socket)
        arguments = ["shadow", "report", "--socket", str(socket)]
        with structlog.testing.capture_logs():  # the runner captures what the shadow itself prints meanwhile
            result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
        serving.cancel()
    return result


def test_the_lease_of_a_shadow_is_not_that_of_an_orchestrator() -> None:
    made = configuration()
    assert made.leader_election.lease_name == "turnstile"
    assert with_own_lease(made).leader_election.lease_name == "turnstile-shadow"
