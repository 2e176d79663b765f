"""Making a cluster's objects what they should be, or only reporting what would be done."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, ObjectKey
from gates.model.marks import hub_of
from manager.onboarding.clusters import ClusterApi
from manager.onboarding.errors import OnboardingError
from manager.onboarding.objects import is_ours, refuse_foreign
from workerclient.base.errors import AlreadyExists, Conflict, NotFound
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Precondition

_ATTEMPTS: Final = 5
"""How often an object that changed between read and write is read again."""


@dataclass(frozen=True, slots=True)
class ClusterChanges:
    """The changes of one cluster; with `is_rehearsal` it only reads."""

    client: ClusterApi
    tell: Callable[[str], None]
    is_rehearsal: bool
    adopts: bool = False
    """Whether objects of the shipped names that others made may be changed and deleted as if they were made here."""

    async def ensure(self, kind: ApiKind, wanted: Obj, *, shared: bool = False) -> None:
        """Make an object exist with these contents; a `shared` one that was created otherwise is used as it is."""
        for _ in range(_ATTEMPTS):
            try:
                await self._ensure(kind, wanted, shared=shared)
            except (AlreadyExists, Conflict):
                continue  # another client was faster: what is there now may be as it should be
            return
        raise self._restless(kind, key_of(wanted))

    async def _ensure(self, kind: ApiKind, wanted: Obj, *, shared: bool) -> None:
        key = key_of(wanted)
        stored = await self.find(kind, key)
        if stored is None:
            await self.create(kind, wanted)
            return
        is_adopted = self.adopts and not is_ours(stored)
        if _says(stored, wanted, with_metadata=not shared or is_adopted):
            self.tell(f"{self.client.name}: {kind.kind} {key} is up to date")
            return
        if shared and not is_adopted and not is_ours(stored):
            self.tell(f"{self.client.name}: {kind.kind} {key} is not the shipped one; unchanged, see --adopt")
            return
        self._refuse(kind, stored, wanted)
        await self.replace(kind, stored, wanted)

    async def create(self, kind: ApiKind, wanted: Obj) -> None:
        """Create an object; raises `AlreadyExists`."""
        if not self.is_rehearsal:
            await self.client.resource(kind).create(wanted)
        self._say("create", kind, key_of(wanted))

    async def replace(self, kind: ApiKind, stored: Obj, wanted: Obj) -> None:
        """Put an object in place of the version that is known; raises `Conflict` if that changed."""
        if not self.is_rehearsal:
            await self.client.resource(kind).replace(_renewed(stored, wanted))
        self._say("update", kind, key_of(wanted))

    async def remove(self, kind: ApiKind, key: ObjectKey) -> None:
        """Delete an object created by `turnstile worker`."""
        stored = await self.find(kind, key)
        if stored is None:
            self.tell(f"{self.client.name}: {kind.kind} {key} is not there")
            return
        self._refuse(kind, stored)
        if not self.is_rehearsal:
            with suppress(NotFound):  # another client was faster
                await self.client.resource(kind).delete(key, Precondition(stored["metadata"]["uid"]))
        self._say("delete", kind, key)

    async def amend(self, kind: ApiKind, stored: Obj, field: str, value: object) -> None:
        """Set one field under `spec` of an object, whether or not Turnstile made it."""
        metadata = stored["metadata"]
        key = key_of(stored)
        if not self.is_rehearsal:
            fence = Precondition(metadata["uid"], metadata["resourceVersion"])
            await self.client.resource(kind).merge_patch(key, {"spec": {field: value}}, fence)
        self._say("update", kind, key)

    async def find(self, kind: ApiKind, key: ObjectKey) -> Obj | None:
        """Return an object, None if there is none."""
        try:
            return await self.client.resource(kind).get(key)
        except NotFound:
            return None

    async def listed(self, kind: ApiKind, *, label_selector: str = "", namespace: str = "") -> list[Obj]:
        """Return all objects of a kind."""
        pages = self.client.resource(kind).pages(label_selector=label_selector, namespace=namespace)
        return [stored async for page in pages for _, stored in page.items]

    def _refuse(self, kind: ApiKind, stored: Obj, wanted: Obj | None = None) -> None:
        if not self.adopts:
            refuse_foreign(kind, stored, self.client.name)
        theirs, ours = hub_of(stored["metadata"]), hub_of(wanted["metadata"]) if wanted is not None else ""
        if theirs and ours and theirs != ours:
            raise OnboardingError(f"{self.client.name} has a {kind.kind} {key_of(stored)} of the hub {theirs}")

    def _restless(self, kind: ApiKind, key: ObjectKey) -> OnboardingError:
        return OnboardingError(f"{self.client.name}: {kind.kind} {key} is being changed by another client; try again")

    def _say(self, verb: str, kind: ApiKind, key: ObjectKey) -> None:
        done = f"would {verb}" if self.is_rehearsal else f"{verb}d"
        self.tell(f"{self.client.name}: {done} {kind.kind} {key}")


def key_of(document: Obj) -> ObjectKey:
    """Return the key of an object."""
    return ObjectKey(document["metadata"].get("namespace", ""), document["metadata"]["name"])


def _says(stored: Obj, wanted: Obj, *, with_metadata: bool) -> bool:
    """Return whether all that is wanted is stored; what others added beside it does not matter."""
    plain = all(stored.get(field) == value for field, value in wanted.items() if field != "metadata")
    if not with_metadata:
        return plain
    return plain and all(
        wanted["metadata"].get(field, {}).items() <= (stored["metadata"].get(field) or {}).items()
        for field in ("labels", "annotations")
    )


def _renewed(stored: Obj, wanted: Obj) -> Obj:
    """Return the wanted object as the successor of the stored version."""
    old, new = stored["metadata"], wanted["metadata"]
    metadata = {
        **old,
        "labels": {**(old.get("labels") or {}), **new.get("labels", {})},
        "annotations": {**(old.get("annotations") or {}), **new.get("annotations", {})},
    }
    return {**stored, **wanted, "metadata": metadata}
