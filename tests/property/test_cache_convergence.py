"""However answers to our own writes, watch events and lists interleave, a cache ends where the cluster is."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from config.api.meta import ObjectKey
from workerclient.objects.cache import Cache
from workerclient.wire.codec import Identity

KEYS = [ObjectKey("default", name) for name in "abc"]


class CacheBesideACluster(RuleBasedStateMachine):
    """A cluster with its history, a watch that lags behind, and answers to our writes that are still on their way."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: Cache[str] = Cache()
        self.revision = 0
        self.stored: dict[ObjectKey, Identity] = {}
        self.events: list[tuple[str, Identity]] = []
        self.answers: list[tuple[str, Identity]] = []
        self.shown: dict[ObjectKey, int] = {}
        self.answered: dict[ObjectKey, int] = {}
        self.deletions: dict[ObjectKey, int] = {}
        self.backup: dict[ObjectKey, Identity] | None = None
        self.cache.begin_list().finish("0")

    def _write(self, key: ObjectKey) -> tuple[str, Identity]:
        self.revision += 1
        uid = self.stored[key].uid if key in self.stored else f"uid-{self.revision}"
        self.stored[key] = Identity(key, uid, str(self.revision))
        self.events.append(("MODIFIED", self.stored[key]))
        return self.events[-1]

    def _delete(self, key: ObjectKey) -> tuple[str, Identity]:
        self.revision += 1
        last = self.stored.pop(key)
        self.deletions[key] = self.revision
        self.events.append(("DELETED", Identity(key, last.uid, str(self.revision))))
        return self.events[-1]

    @rule(key=st.sampled_from(KEYS), ours=st.booleans())
    def write(self, key: ObjectKey, ours: bool) -> None:
        """Create or change an object."""
        event = self._write(key)
        if ours:
            self.answers.append(event)

    @precondition(lambda self: self.stored)
    @rule(data=st.data(), ours=st.booleans())
    def delete(self, data: st.DataObject, ours: bool) -> None:
        """Delete an object."""
        key = data.draw(st.sampled_from(sorted(self.stored)))
        known = self.cache.identity(key)
        is_known = known is not None and known.uid == self.stored[key].uid
        event = self._delete(key)
        if ours and is_known:  # the precondition of our deletes comes from the cache
            self.answers.append(event)

    @precondition(lambda self: self.events)
    @rule()
    def deliver_event(self) -> None:
        """Let the watch tell the next event."""
        kind, identity = self.events.pop(0)
        if kind == "DELETED":
            self.cache.observe_deletion(identity)
        else:
            self.cache.observe(identity, identity.resource_version)

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def deliver_answer(self, data: st.DataObject) -> None:
        """Let one of our answers arrive, in any order."""
        self._take_answer(self.answers.pop(data.draw(st.integers(0, len(self.answers) - 1))))

    def _take_answer(self, answer: tuple[str, Identity]) -> None:
        kind, identity = answer
        if kind == "DELETED":
            self.cache.deleted(identity.key, identity.uid)
        else:
            self.cache.wrote(identity, identity.resource_version)
        self.answered[identity.key] = max(self.answered.get(identity.key, 0), int(identity.resource_version))

    @rule()
    def take_backup(self) -> None:
        """Keep everything as it is now."""
        self.backup = dict(self.stored)

    @precondition(lambda self: self.backup is not None)
    @rule(data=st.data(), bump=st.sampled_from([0, 1, 1000]))
    def restore(self, data: st.DataObject, bump: int) -> None:
        """Go back to the backup. The counter goes on, as etcd's does with a bump, and everything is listed again.

        Answers to earlier writes may arrive later, about writes that never were.
        """
        self.stored, self.revision = dict(self.backup or {}), self.revision + bump
        late = [answer for answer in self.answers if data.draw(st.booleans())]
        for forgotten in (self.answers, self.shown, self.answered, self.deletions):
            forgotten.clear()
        known = {key: self.cache.identity(key) for key in self.stored}
        # What we write to is known by the cache: what we deleted, and is back, is not until it was listed.
        ours = [key for key, each in known.items() if each is not None and each.uid == self.stored[key].uid]
        self._list(data, ours)
        for _, identity in late:
            self.cache.wrote(identity, identity.resource_version)

    @rule(data=st.data())
    def list_again(self, data: st.DataObject) -> None:
        """List everything while our writes go on; the watch continues from the list."""
        self._list(data, KEYS)

    def _list(self, data: st.DataObject, ours: list[ObjectKey]) -> None:
        listing = self.cache.begin_list()
        snapshot, revision = dict(self.stored), self.revision
        listing.date(str(revision))
        self.events.clear()
        for _ in range(data.draw(st.integers(0, 2)) if ours else 0):
            self.answers.append(self._write(data.draw(st.sampled_from(ours))))
            self.deliver_answer(data)
        for identity in snapshot.values():
            listing.add(identity, identity.resource_version)
        listing.finish(str(revision))

    @invariant()
    def no_object_goes_back_in_time(self) -> None:
        """Compare what is shown now with what was shown before."""
        for key in KEYS:
            identity = self.cache.identity(key)
            if identity is not None:
                assert int(identity.resource_version) >= self.shown.get(key, 0)
                self.shown[key] = int(identity.resource_version)

    @invariant()
    def our_own_answered_writes_are_seen(self) -> None:
        """Whatever is shown, or not shown, is no older than the last write whose answer we have."""
        for key, answered in self.answered.items():
            identity = self.cache.identity(key)
            if identity is not None:
                assert int(identity.resource_version) >= answered
            else:
                assert self.deletions.get(key, 0) >= answered

    def teardown(self) -> None:
        """Let everything arrive and compare with the cluster."""
        for answer in self.answers:
            self._take_answer(answer)
        while self.events:
            self.deliver_event()
        assert {key: self.cache.identity(key) for key in self.cache} == self.stored


TestCacheBesideACluster = CacheBesideACluster.TestCase
TestCacheBesideACluster.settings = settings(deadline=None, max_examples=200, stateful_step_count=30)
