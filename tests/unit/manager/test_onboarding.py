"""Workers come, are renewed and go: among other clusters, among other hubs, and with a crash at every write."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import yaml

from config.api.meta import ObjectKey
from gates.diagnosis.identity import IS_HUB, is_same_cluster
from gates.model import marks
from manager.onboarding.clusters import Connections
from manager.onboarding.errors import OnboardingError
from manager.onboarding.objects import MADE_BY_US, account_of, shared_account, shipped_objects
from manager.onboarding.workers import Onboarding, WorkerCluster
from tests.support.virtual_time import VirtualClock
from tests.unit.manager.memory_clusters import ADMIN, LIMITED, Cluster, Clusters, CrashError

SYSTEM = "turnstile-system"
HOUR = 3600
Obj = dict[str, Any]


class RushingClock(VirtualClock):
    """Lets as much time pass as a caller wants to wait."""

    async def sleep(self, seconds: float) -> None:
        await self.advance(seconds)


class Place:
    """A hub among other clusters."""

    def __init__(self, clusters: Clusters | None = None, hub: str = "hub") -> None:
        self.clusters = clusters or Clusters()
        self.hub = self.clusters.make(hub)
        self.hub.put("namespaces", {"metadata": {"name": SYSTEM}})
        self.said: list[str] = []

    def onboarding(self, **options: bool) -> Onboarding:
        access, clock = self.hub.access(), RushingClock()
        connections = Connections(self.clusters.connect, self.clusters.connect)
        return Onboarding(access, SYSTEM, connections, clock, self.said.append, **options)

    async def add(
        self, name: str, at: Cluster, config: str | None = None, *, adopts: bool = False, move: bool = False
    ) -> None:
        await self.onboarding(adopts=adopts).add(WorkerCluster(name, at.access()), HOUR, config, move=move)

    async def rotate(
        self,
        name: str,
        at: Cluster,
        *,
        revoke: bool = False,
        move: bool = False,
        user: str = ADMIN,
        adopt: bool = False,
    ) -> None:
        await self.onboarding(adopts=adopt).rotate(WorkerCluster(name, at.access(user)), HOUR, revoke=revoke, move=move)

    async def remove(self, name: str, at: Cluster | None = None, *, adopt: bool = False, abandon: bool = False) -> None:
        access = at.access() if at is not None else None
        await self.onboarding(adopts=adopt).remove(name, access, abandon=abandon)

    def kubeconfig(self, name: str) -> Obj:
        secret = self.hub.find("secrets", name, SYSTEM)
        assert secret is not None
        document: Obj = yaml.safe_load(base64.b64decode(secret["data"]["kubeconfig"]))
        return document

    def token(self, name: str) -> str:
        return str(self.kubeconfig(name)["users"][0]["user"]["token"])

    def works(self, name: str, at: Cluster) -> bool:
        server = self.kubeconfig(name)["clusters"][0]["cluster"]["server"]
        return bool(server == at.server) and at.may_work(self.token(name))


def two() -> tuple[Place, Cluster, Cluster]:
    place = Place()
    return place, place.clusters.make("a"), place.clusters.make("b")


def contents(cluster: Cluster) -> Obj:
    return {plural: dict(found) for plural, found in cluster.objects.items() if found}


# --- S2: another cluster


async def test_S2_rotation_with_the_kubeconfig_of_another_cluster_is_refused() -> None:
    place, a, b = two()
    await place.add("w1", a)
    await place.add("w2", b)
    before = contents(place.hub), contents(a), contents(b)
    for revoke in (False, True):
        with pytest.raises(OnboardingError, match="another cluster than w1"):
            await place.rotate("w1", b, revoke=revoke)
    assert (contents(place.hub), contents(a), contents(b)) == before
    assert place.works("w1", a)
    assert place.works("w2", b)


async def test_S2_adding_again_with_another_cluster_leaves_nothing_there() -> None:
    place, a, b = two()
    await place.add("w1", a)
    with pytest.raises(OnboardingError, match="another cluster than w1"):
        await place.add("w1", b)
    assert list(contents(b)) == ["namespaces"]
    assert place.works("w1", a)


async def test_S2_removal_with_the_kubeconfig_of_another_cluster_takes_nothing_away() -> None:
    place, a, b = two()
    await place.add("w1", a)
    await place.add("w2", b)
    with pytest.raises(OnboardingError, match="another cluster than w1"):
        await place.remove("w1", b)
    assert place.works("w1", a)
    assert place.works("w2", b)


async def test_S2_a_name_moves_only_while_no_configuration_names_it() -> None:
    place, a, b = two()
    await place.add("w1", a, "all")
    for move in (place.rotate("w1", b, move=True), place.add("w1", b, move=True)):
        with pytest.raises(OnboardingError, match="MultiKueueConfig all names w1"):
            await move
    config = place.hub.find("multikueueconfigs", "all")
    assert config is not None
    config["spec"]["clusters"] = []
    await place.rotate("w1", b, move=True)
    assert place.works("w1", b)
    await place.add("w1", a, move=True)
    assert place.works("w1", a)
    with pytest.raises(OnboardingError, match="--revoke"):
        await place.rotate("w1", b, revoke=True, move=True)


async def test_S2_a_secret_of_an_earlier_version_is_identified_by_its_own_kubeconfig() -> None:
    place, a, b = two()
    await place.add("w1", a)
    secret = place.hub.find("secrets", "w1", SYSTEM)
    assert secret is not None
    del secret["metadata"]["annotations"]["multikueue-turnstile.dev/cluster-uid"]
    with pytest.raises(OnboardingError, match=r"kube-system has the UID .* in w1"):
        await place.rotate("w1", b)
    await place.rotate("w1", a)
    assert (
        place.hub.objects["secrets"][ObjectKey(SYSTEM, "w1")]["metadata"]["annotations"][
            "multikueue-turnstile.dev/cluster-uid"
        ]
        == a.uid
    )


async def test_S2_where_nothing_can_be_read_address_and_authority_have_to_agree() -> None:
    place, a, b = two()
    await place.add("w1", a)
    secret = place.hub.find("secrets", "w1", SYSTEM)
    assert secret is not None
    del secret["metadata"]["annotations"]["multikueue-turnstile.dev/cluster-uid"]
    del a.objects["clusterrolebindings"]
    with pytest.raises(OnboardingError, match="neither kube-system nor the address"):
        await place.rotate("w1", b, revoke=True)
    await place.rotate("w1", a)
    await place.add("w1", a)
    assert place.works("w1", a)


async def test_S2_revocation_is_proven_by_the_old_token() -> None:
    place, a, _ = two()
    await place.add("w1", a)
    old = place.token("w1")
    await place.rotate("w1", a, revoke=True)
    assert not a.is_accepted(old)
    assert "w1: the old token is refused" in place.said
    a.honours_dead_tokens = True
    with pytest.raises(OnboardingError, match="old token of w1 is still accepted; repeat with --revoke"):
        await place.rotate("w1", a, revoke=True)


async def test_S2_a_note_that_does_not_fit_the_kubeconfig_is_not_believed() -> None:
    place, a, b = two()
    await place.add("w1", a)
    secret = place.hub.find("secrets", "w1", SYSTEM)
    assert secret is not None
    secret["metadata"]["annotations"]["multikueue-turnstile.dev/cluster-uid"] = b.uid
    with pytest.raises(OnboardingError, match="another cluster than w1"):
        await place.rotate("w1", b, revoke=True)
    assert place.works("w1", a)


async def test_S2_one_verb_is_enough_to_rotate() -> None:
    place, a, b = two()
    await place.add("w1", a)
    old = place.token("w1")
    await place.rotate("w1", a, user=LIMITED)
    assert place.works("w1", a)
    assert place.token("w1") != old
    await place.add("w2", b)
    with pytest.raises(OnboardingError, match="another cluster than w1"):
        await place.rotate("w1", b, user=LIMITED)
    assert place.works("w1", a)


async def test_F4_the_hub_is_refused_and_a_second_name_is_told_when_they_are_added() -> None:
    place, a, _ = two()
    with pytest.raises(OnboardingError, match=f"^self {IS_HUB}; nothing was changed. Name another cluster$"):
        await place.add("self", place.hub)
    assert (place.said, place.hub.names("secrets")) == ([], [])
    await place.add("w1", a)
    await place.add("w2", a)
    undo = "unless this renames it, undo it with `turnstile worker remove w2`"
    assert f"warning: w2 {is_same_cluster('w1')}; {undo}" in place.said


@pytest.mark.parametrize("is_rehearsal", [False, True])
async def test_a_hub_without_the_namespace_is_told_before_anything_is_made(*, is_rehearsal: bool) -> None:
    place, a, _ = two()
    del place.hub.objects["namespaces"][ObjectKey("", SYSTEM)]
    with pytest.raises(OnboardingError, match=f"the hub has no namespace {SYSTEM}, .* kubectl create namespace"):
        await place.onboarding(is_rehearsal=is_rehearsal).add(WorkerCluster("w1", a.access()), HOUR, None)
    assert (place.said, a.names("serviceaccounts")) == ([], [])


# --- S8: another hub


async def two_hubs() -> tuple[Place, Place, Cluster]:
    first, a, _ = two()
    second = Place(first.clusters, "hub2")
    await first.add("w1", a)
    await second.add("w1", a)
    return first, second, a


async def test_S8_what_one_hub_does_leaves_the_other_alone() -> None:
    first, second, a = await two_hubs()
    await second.rotate("w1", a, revoke=True)
    assert first.works("w1", a)
    await second.remove("w1", a)
    assert first.works("w1", a)
    assert a.names("serviceaccounts") == [account_of(first.hub.uid).name]
    await first.remove("w1", a)
    assert set(contents(a)) == {"namespaces"}


async def test_S8_two_names_of_one_cluster_share_an_account_and_do_not_cut_each_other_off() -> None:
    place, a, _ = two()
    await place.add("w1", a)
    await place.add("w2", a)
    with pytest.raises(OnboardingError, match="w1 is the same cluster and uses the same account"):
        await place.rotate("w2", a, revoke=True)
    await place.remove("w2", a)
    assert place.works("w1", a)
    assert place.hub.find("secrets", "w2", SYSTEM) is None


@pytest.mark.parametrize("labels", [dict(MADE_BY_US), {}], ids=["of an earlier version", "made by hand"])
async def test_S8_a_second_name_without_a_note_is_not_cut_off(labels: Obj) -> None:
    place, a, _ = two()
    await place.add("w1", a)
    await place.add("w2", a)
    secret = place.hub.find("secrets", "w2", SYSTEM)
    assert secret is not None
    secret["metadata"]["annotations"], secret["metadata"]["labels"] = {}, labels
    with pytest.raises(OnboardingError, match="w2 is the same cluster and uses the same account"):
        await place.rotate("w1", a, revoke=True)
    await place.remove("w1", a)
    assert place.works("w2", a)


def earlier_version(place: Place, at: Cluster, labels: Obj) -> str:
    """Leave what `add` of an earlier version left, or kubectl; return the token."""
    plurals = {"ServiceAccount": "serviceaccounts", "Namespace": "namespaces"}
    for kind, document in shipped_objects():
        metadata = {**document["metadata"], "labels": labels}
        at.put(plurals.get(kind.kind, kind.plural), {**document, "metadata": metadata})
    token = at.issue(shared_account())
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "w1",
                "cluster": {
                    "server": at.server,
                    "certificate-authority-data": base64.b64encode(at.authority).decode(),
                },
            }
        ],
        "users": [{"name": "turnstile", "user": {"token": token}}],
        "contexts": [{"name": "w1", "context": {"cluster": "w1", "user": "turnstile"}}],
        "current-context": "w1",
    }
    data = {"kubeconfig": base64.b64encode(yaml.safe_dump(kubeconfig).encode()).decode()}
    metadata = {"name": "w1", "namespace": SYSTEM, "labels": dict(MADE_BY_US)}
    place.hub.put("secrets", {"metadata": metadata, "data": data})
    source = {"kubeConfig": {"locationType": "Secret", "location": "w1"}}
    cluster = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueCluster", "spec": {"clusterSource": source}}
    place.hub.put("multikueueclusters", {**cluster, "metadata": {"name": "w1", "labels": dict(MADE_BY_US)}})
    return token


EARLIER = {"made by an earlier version": dict(MADE_BY_US), "applied by kubectl": {}}


@pytest.mark.parametrize("labels", EARLIER.values(), ids=EARLIER.keys())
async def test_S8_an_account_of_an_earlier_version_works_until_rotation_replaces_it(labels: Obj) -> None:
    place, a, _ = two()
    old = earlier_version(place, a, labels)
    await place.add("w1", a)
    assert place.token("w1") == old, "what works is left alone"
    assert place.works("w1", a)
    await place.rotate("w1", a)
    assert place.works("w1", a)
    assert place.token("w1") != old
    assert a.is_accepted(old), "another hub may use that account"
    assert any("is no longer used by this hub" in line for line in place.said)


@pytest.mark.parametrize("labels", EARLIER.values(), ids=EARLIER.keys())
async def test_S10_an_account_that_others_may_use_is_revoked_only_if_that_is_said(labels: Obj) -> None:
    place, a, _ = two()
    old = earlier_version(place, a, labels)
    with pytest.raises(OnboardingError, match="--adopt deletes it anyway"):
        await place.rotate("w1", a, revoke=True)
    assert place.works("w1", a)
    await place.rotate("w1", a, revoke=True, adopt=True)
    assert not a.is_accepted(old)
    assert place.works("w1", a)


@pytest.mark.parametrize("adopt", [False, True])
async def test_S8_removal_leaves_an_account_that_others_may_use_unless_told_otherwise(*, adopt: bool) -> None:
    place, a, _ = two()
    old = earlier_version(place, a, dict(MADE_BY_US))
    await place.remove("w1", a, adopt=adopt)
    assert a.is_accepted(old) is not adopt
    assert place.hub.find("secrets", "w1", SYSTEM) is None
    assert ("turnstile-worker" in a.names("clusterroles")) is not adopt


async def test_S8_a_limited_rotator_keeps_the_earlier_account() -> None:
    place, a, _ = two()
    earlier_version(place, a, dict(MADE_BY_US))
    a.forbidden_accounts.add(account_of(place.hub.uid))
    await place.rotate("w1", a, user=LIMITED)
    assert place.works("w1", a)


# --- S8: what still runs there


def copy_of(hub_uid: str, name: str, *, finished: bool = False) -> Obj:
    condition = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {"kueue.x-k8s.io/multikueue-origin": "hub"},
            "annotations": {marks.HUB: hub_uid},
        },
        "status": {"conditions": [condition] if finished else []},
    }


@pytest.mark.parametrize("with_access", [True, False], ids=["by the administrator", "by the stored kubeconfig"])
@pytest.mark.parametrize("plural", ["workloads", "jobs"])
async def test_S8_a_worker_is_not_let_go_while_something_of_the_hub_runs_there(
    plural: str, *, with_access: bool
) -> None:
    place, a, _ = two()
    await place.add("w1", a)
    a.put(plural, copy_of("another hub", "theirs"))
    a.put("workloads", copy_of(place.hub.uid, "done", finished=True))
    running = a.put(plural, copy_of(place.hub.uid, "running"))
    at = a if with_access else None
    with pytest.raises(OnboardingError, match=r"1 objects of this hub are not finished on w1 \(.* team/running\)"):
        await place.remove("w1", at)
    assert place.works("w1", a)
    await place.remove("w1", at, abandon=True)
    assert place.hub.find("secrets", "w1", SYSTEM) is None
    assert a.find(plural, "running", "team") == running


@pytest.mark.parametrize("plural", ["workloads", "jobs"])
@pytest.mark.parametrize("odd", [5, [], {"conditions": 5}, {"conditions": [5]}], ids=str)
async def test_S8_what_cannot_be_understood_counts_as_running(plural: str, odd: Any) -> None:
    place, a, _ = two()
    await place.add("w1", a)
    a.put(plural, {**copy_of(place.hub.uid, "odd"), "status": odd, "spec": odd})
    with pytest.raises(OnboardingError, match=r"1 objects of this hub are not finished on w1 \(.* team/odd\)"):
        await place.remove("w1", a)


async def test_S8_a_worker_that_does_not_answer_is_let_go_only_if_that_is_said() -> None:
    place, a, _ = two()
    await place.add("w1", a)
    a.is_down = True
    with pytest.raises(OnboardingError, match="--abandon removes the worker anyway"):
        await place.remove("w1")
    await place.remove("w1", abandon=True)
    assert place.hub.find("secrets", "w1", SYSTEM) is None


# --- S10: cut short, at once


async def test_S10_adding_again_heals_a_dead_token() -> None:
    place, a, _ = two()
    await place.add("w1", a)
    del a.objects["serviceaccounts"]
    await place.add("w1", a)
    assert place.works("w1", a)
    assert "w1: refuses the stored token; requesting a new one" in place.said


async def test_S10_plain_rotation_heals_an_account_that_is_gone() -> None:
    place, a, _ = two()
    await place.add("w1", a)
    del a.objects["serviceaccounts"]
    await place.rotate("w1", a)
    assert place.works("w1", a)


async def test_S10_two_at_once_both_succeed() -> None:
    place, a, _ = two()
    await asyncio.gather(place.add("w1", a, "all"), place.add("w1", a, "all"))
    assert place.works("w1", a)
    await asyncio.gather(place.add("w2", a, "all"), place.add("w3", a, "all"))
    config = place.hub.find("multikueueconfigs", "all")
    assert config is not None
    assert sorted(config["spec"]["clusters"]) == ["w1", "w2", "w3"]


async def test_S10_of_two_clusters_added_by_one_name_at_once_one_is_refused() -> None:
    place, a, b = two()
    results = await asyncio.gather(place.add("w1", a), place.add("w1", b), return_exceptions=True)
    refused = [result for result in results if result is not None]
    assert len(refused) == 1
    assert isinstance(refused[0], OnboardingError)
    winner = a if results[0] is None else b
    assert place.works("w1", winner)


# --- a crash at every write, then again

Command = Callable[[Place, Cluster], Awaitable[None]]


async def _revoke(place: Place, at: Cluster) -> None:
    await place.rotate("w1", at, revoke=True)


COMMANDS: dict[str, tuple[Command, tuple[Command, ...]]] = {
    "add": (lambda p, c: p.add("w1", c, "all"), (lambda p, c: p.add("w1", c, "all"),)),
    "rotate": (lambda p, c: p.rotate("w1", c), (lambda p, c: p.rotate("w1", c), lambda p, c: p.add("w1", c))),
    "revoke": (_revoke, (_revoke, lambda p, c: p.rotate("w1", c), lambda p, c: p.add("w1", c))),
    "remove": (lambda p, c: p.remove("w1", c), (lambda p, c: p.remove("w1", c),)),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_late", [False, True], ids=["before the write", "after the write"])
@pytest.mark.parametrize("name", COMMANDS)
async def test_S10_whatever_was_cut_short_is_healed_by_repeating_it(name: str, *, is_late: bool) -> None:
    command, cures = COMMANDS[name]
    crashes = 0
    for cure in cures:
        for at in range(30):
            place, a, b = two()
            await place.add("w2", b)
            if name != "add":
                await place.add("w1", a)
            old = place.token("w1") if name != "add" else ""
            place.clusters.fuse.at, place.clusters.fuse.is_late = place.clusters.fuse.written + at, is_late
            try:
                await command(place, a)
            except CrashError:
                crashes += 1
            else:
                break
            await cure(place, a)
            assert place.works("w2", b)
            if name == "remove":
                assert set(contents(a)) == {"namespaces"}
                assert place.hub.names("secrets") == ["w2"]
                continue
            assert place.works("w1", a), (name, at)
            assert len(a.names("serviceaccounts")) == 1
            if name == "revoke" and cure is command:
                assert not a.is_accepted(old)
    assert crashes >= len(cures), "there was something to cut short"
