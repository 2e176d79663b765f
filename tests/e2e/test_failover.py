"""Two daemons, one Lease: the standby takes over from a leader that stopped, died or was frozen."""

import os
import signal
from pathlib import Path

from tests.e2e.clusters import Clusters, RealSide
from tests.e2e.daemon import Turnstile
from tests.e2e.scene import Scene
from tests.realbed import audit

GAINED = "leadership.gained"
ELECTION = {"leaseDuration": "30s", "renewDeadline": "20s"}
"""A busy machine may keep a leader from renewing for as long as the default deadline; then the standby leads early."""
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


async def pair(scene: Scene, *, kubeconfig: str | None = None) -> tuple[Turnstile, Turnstile]:
    """Start a leader, then a standby; wait until the standby's caches are warm."""
    await scene.build()
    leader = await scene.start_turnstile(leaderElection=ELECTION)
    directory = scene.directory / "standby"
    directory.mkdir()
    sections = scene.sections(leaderElection=ELECTION)
    standby = Turnstile(directory, kubeconfig or scene.hub.kubeconfig(), sections)
    scene.standby = standby
    await standby.start()
    await until_says(scene, standby, *(f'"worker": "{name}"'.replace(": ", ":") for name in scene.workers))
    assert GAINED not in standby.log()
    return leader, standby


async def until_says(scene: Scene, daemon: Turnstile, *words: str) -> None:
    async def says() -> bool:
        return all(word in daemon.log() for word in words)

    await scene.until(says, f"{words} in the log of a daemon")


async def test_a_clean_stop_hands_the_work_over(scene: Scene) -> None:
    leader, standby = await pair(scene)
    await scene.submit("before")
    winner = await scene.until_won("before")
    await leader.stop()
    await scene.submit("after")
    await until_says(scene, standby, GAINED)
    await scene.finish(winner, "before")
    await scene.until_complete("before")
    await scene.until_won("after")
    assert "leadership.released" in leader.log()


async def test_a_killed_leader_is_followed_by_the_standby(scene: Scene) -> None:
    leader, standby = await pair(scene)
    await leader.kill()
    await scene.submit("job")
    await until_says(scene, standby, GAINED)
    await scene.until_won("job")


async def test_a_leader_that_was_frozen_longer_than_its_lease_writes_nothing_when_it_wakes(
    audited_clusters: Clusters, tmp_path: Path
) -> None:
    """The two have different users, so that the API servers' audit logs tell them apart."""
    hub = audited_clusters.hub
    assert isinstance(hub, RealSide)
    scene = Scene("t-frozen", audited_clusters, tmp_path)
    try:
        leader, standby = await pair(scene, kubeconfig=hub.unlimited_kubeconfig())
        await scene.submit("before")
        await scene.until_won("before")
        os.kill(leader.pid, signal.SIGSTOP)
        await scene.submit("while-frozen")
        await until_says(scene, standby, GAINED)
        await scene.until(lambda: scene.holders("while-frozen"), "copies by the standby")
        places = {side.name: audit.position(side.real.directory) for side in sides(audited_clusters)}
        os.kill(leader.pid, signal.SIGCONT)
        assert await leader.ended() == 1
        assert "the Lease turnstile-system/turnstile" in leader.log().splitlines()[-1]
        # Both have the same user on the workers, where only the standby has anything to do from now on.
        written = [
            record
            for record in audit.since(hub.real.directory, places[hub.name])
            if record.verb in WRITES and record.user.endswith(":turnstile")
        ]
        assert written == []
    finally:
        await scene.tear_down()


def sides(clusters: Clusters) -> list[RealSide]:
    return [side for side in (clusters.hub, *clusters.workers.values()) if isinstance(side, RealSide)]
