"""Clusters of the simulation: the local API server without sockets, and the local Kueue with its moods."""

import asyncio
import base64
import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from config.api.meta import NANOSECONDS, Obj
from config.kubeconfig.access import ClusterAccess
from localcluster.access.auth import TokenUser, Users
from localcluster.access.service_accounts import ServiceAccounts
from localcluster.kinds.kinds import ServedKind
from localcluster.kueue.profile import BEFORE_GATES, CURRENT, GATES_OFF, KEP_8303, KueueProfile
from localcluster.kueue.stand_in import LocalKueue
from localcluster.serving.faults import Faults
from localcluster.serving.server import ApiServer
from localcluster.serving.watch import BUFFER_EVENTS
from localcluster.store.gc import OwnerGarbageCollector
from localcluster.store.ledger import Version
from localcluster.store.namespaces import INITIAL
from localcluster.store.store import Store
from localcluster.store.write_options import WriteOptions
from tests.simulation.certificate import AUTHORITY
from tests.simulation.clocks import WallClock
from tests.simulation.loop import context_of
from tests.simulation.wire import AUTHOR, ClusterEndpoint

KUEUE: Final = "kueue.x-k8s.io"
PROFILES: Final = {"current": CURRENT, "kep": KEP_8303, "gates-off": GATES_OFF, "before-gates": BEFORE_GATES}
"""Which Kueue a worker may have."""
_BUMP: Final = 1_000_000
_OTHER_WRITES: Final = 10_000
"""What other parts of a real cluster write in the meantime: a restored one does not soon come to the same revision."""


@dataclass(frozen=True)
class EtcdBackup:
    """What etcd held at one moment."""

    revision: int
    versions: dict[str, list[Version]]


class SimulatedCluster:
    """One API server with its Kueue."""

    def __init__(self, name: str, profile: KueueProfile, seed: str, url: str = "", token: str = "") -> None:
        loop = asyncio.get_running_loop()
        chance = Random(f"{seed}/ids/{name}")
        self.name = name
        self.url = url or f"https://{name}.example:6443"
        self.clock = WallClock(loop)
        self.store = Store(profile.kinds(), self.clock, ids=lambda: _uid(chance))
        self.token = token or f"token-of-{name}"
        tokens = (self.token, f"{self.token}-renewed")
        accounts = ServiceAccounts(self.store)
        users = Users((TokenUser("turnstile", each, ("system:masters",)) for each in tokens), accounts)
        self.server = ApiServer(self.store, users, accounts, Faults(), watch_buffer=BUFFER_EVENTS)
        self.endpoint = ClusterEndpoint(name, self.server, self.token)
        self._context = context_of(f"controllers {name}")
        self._context.run(AUTHOR.set, "controllers")
        self._gc = OwnerGarbageCollector(self.store, self._schedule_gc)
        for namespace in INITIAL:
            self.create("namespaces", {"metadata": {"name": namespace}}, "")
        self.kueue = KueueActor(self.store, profile, Random(f"{seed}/kueue/{name}"), self._context)

    @property
    def access(self) -> ClusterAccess:
        """Return the administrator's access."""
        return ClusterAccess(self.url, AUTHORITY, token=self.token)

    def rotate_token(self) -> None:
        """Give out another token; the old one stays good unless it has expired."""
        renewed = f"{self.token}-renewed"
        self.token = renewed if not self.token.endswith("-renewed") else self.token.removesuffix("-renewed")
        self.endpoint.expired.discard(self.token)

    def expire_token(self) -> None:
        """Let the token that was given out last expire."""
        self.endpoint.expired.add(self.token)

    def kubeconfig_base64(self) -> str:
        """Return the kubeconfig as a Secret holds it."""
        return base64.b64encode(self.kubeconfig()).decode()

    def kubeconfig(self) -> bytes:
        """Return the same as a kubeconfig; JSON is YAML."""
        authority = base64.b64encode(AUTHORITY).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        return json.dumps(document).encode()

    # Objects

    def kind(self, plural: str, group: str | None = None) -> ServedKind:
        """Return a kind by its plural; Kueue's unless said otherwise."""
        groups = {"jobs": "batch", "namespaces": "", "secrets": "", "configmaps": "", "leases": "coordination.k8s.io"}
        groups["leaderworkersets"] = "leaderworkerset.x-k8s.io"
        return self.store.kind(plural, groups.get(plural, KUEUE) if group is None else group)

    def create(self, plural: str, document: Obj, namespace: str = "", author: str = "users") -> Obj:
        """Create an object."""
        with_author = self._context.copy()
        with_author.run(AUTHOR.set, author)
        return with_author.run(
            lambda: (
                self.store.create(
                    self.kind(plural), deepcopy(document), namespace, WriteOptions(manager=author)
                ).version.obj
            )
        )

    def find(self, plural: str, name: str, namespace: str = "") -> Obj | None:
        """Return an object, if it is there."""
        found = self.store.collection(self.kind(plural)).get((namespace, name))
        return None if found is None else found.obj

    def all(self, plural: str) -> list[Obj]:
        """Return the objects of a kind."""
        return self.store.list(self.kind(plural))

    def change(
        self,
        plural: str,
        name: str,
        namespace: str,
        change: Callable[[Obj], object],
        *,
        subresource: str = "",
        author: str = "users",
    ) -> None:
        """Change an object."""

        def changed(stored: Obj) -> Obj:
            copy = deepcopy(stored)
            change(copy)
            return copy

        with_author = self._context.copy()
        with_author.run(AUTHOR.set, author)
        options = WriteOptions(manager=author)
        with_author.run(
            lambda: self.store.patch(
                self.kind(plural), name, changed, namespace, subresource=subresource, options=options
            )
        )

    def delete(self, plural: str, name: str, namespace: str = "", author: str = "users") -> None:
        """Delete an object."""
        with_author = self._context.copy()
        with_author.run(AUTHOR.set, author)
        with_author.run(lambda: self.store.delete(self.kind(plural), name, namespace))

    # etcd

    def take_backup(self) -> EtcdBackup:
        """Keep everything as it is now."""
        ledger = self.store.ledger
        backup = EtcdBackup(ledger.revision, {name: list(each.scan()) for name, each in ledger.collections.items()})
        ledger.revision += _OTHER_WRITES
        return backup

    def restore(self, backup: EtcdBackup, *, bump: bool) -> None:
        """Put everything back as etcd does, without telling any watcher; controllers start again."""
        ledger = self.store.ledger
        for name, versions in backup.versions.items():
            collection = ledger.collections[name]
            for key in [version.key for version in collection.scan()]:
                collection.remove(*key)
            for version in versions:
                collection.place(*version.key, version)
        ledger.revision = ledger.revision + _BUMP if bump else backup.revision
        ledger.forget_history()
        self.kueue.restart()

    def _schedule_gc(self) -> None:
        asyncio.get_running_loop().call_soon(self._gc.run, context=self._context)


class KueueActor:
    """The local Kueue as a process that takes its time, and can be silent for a while."""

    def __init__(self, store: Store, profile: KueueProfile, chance: Random, context: Any) -> None:
        self._store = store
        self.profile = profile
        self._chance = chance
        self._context = context
        self._woken = asyncio.Event()
        self._kueue = LocalKueue(store, profile)
        self.pace = 0.05
        """How many seconds it takes to notice something, on average."""
        self.is_silent = False
        store.ledger.listen(lambda _collection, _change: self._woken.set())
        self._task = asyncio.get_running_loop().create_task(self._run(), context=context)

    def restart(self, profile: KueueProfile | None = None) -> None:
        """Start again, perhaps as another version, with nothing in mind."""
        self.profile = profile or self.profile
        self._kueue.stop()
        self._kueue = LocalKueue(self._store, self.profile)
        self._woken.set()

    async def stop(self) -> None:
        """End for good."""
        self._task.cancel()
        await asyncio.wait([self._task])
        self._kueue.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.pace * 2 * self._chance.random())
            while self.is_silent:
                await asyncio.sleep(1.0)
            self._woken.clear()
            while self._kueue.step():
                await asyncio.sleep(0)
            await self._until_something_happens()

    async def _until_something_happens(self) -> None:
        if self._woken.is_set():
            return
        due_ns = self._kueue.next_ns()
        try:
            seconds = None if due_ns is None else max(0.001, (due_ns - self._kueue.now_ns()) / NANOSECONDS)
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass


def _uid(chance: Random) -> str:
    digits = f"{chance.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
