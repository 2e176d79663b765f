"""Making a cluster's objects what they should be, or only telling what would be done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manager.onboarding.objects import is_ours, refuse_foreign
from workerclient.cluster import ClusterClient
from workerclient.errors import NotFound
from workerclient.kind import ApiKind, Key
from workerclient.resource import Precondition

if TYPE_CHECKING:
    from workerclient.codec import Raw


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one cluster; with `is_rehearsal` it only reads."""

    client: ClusterClient
    tell: Callable[[str], None]
    is_rehearsal: bool

    async def ensure(self, kind: ApiKind, wanted: "Raw", *, shared: bool = False) -> None:
        """Make an object exist with these contents; a `shared` one that somebody else made is used as it is."""
        key = key_of(wanted)
        stored = await self.find(kind, key)
        if stored is None:
            self._say("create", kind, key)
            if not self.is_rehearsal:
                await self.client.resource(kind).create(wanted)
            return
        if _says(stored, wanted, with_metadata=not shared):
            self.tell(f"{self.client.name}: {kind.kind} {key} is as it should be")
            return
        if shared and not is_ours(stored):
            self.tell(f"{self.client.name}: {kind.kind} {key} is not the shipped one and not made here: left alone")
            return
        refuse_foreign(kind, stored, self.client.name)
        self._say("update", kind, key)
        if not self.is_rehearsal:
            await self.client.resource(kind).replace(_renewed(stored, wanted))

    async def remove(self, kind: ApiKind, key: Key) -> None:
        """Make an object of ours not exist."""
        stored = await self.find(kind, key)
        if stored is None:
            self.tell(f"{self.client.name}: {kind.kind} {key} is not there")
            return
        refuse_foreign(kind, stored, self.client.name)
        self._say("delete", kind, key)
        if not self.is_rehearsal:
            await self.client.resource(kind).delete(key, Precondition(stored["metadata"]["uid"]))

    async def amend(self, kind: ApiKind, stored: "Raw", field: str, value: object) -> None:
        """Set one field under `spec` of an object, whoever made it."""
        metadata = stored["metadata"]
        key = key_of(stored)
        self._say("update", kind, key)
        if not self.is_rehearsal:
            fence = Precondition(metadata["uid"], metadata["resourceVersion"])
            await self.client.resource(kind).merge_patch(key, {"spec": {field: value}}, fence)

    async def find(self, kind: ApiKind, key: Key) -> "Raw | None":
        """Return an object, None if there is none."""
        try:
            return await self.client.resource(kind).get(key)
        except NotFound:
            return None

    def _say(self, verb: str, kind: ApiKind, key: Key) -> None:
        done = f"would {verb}" if self.is_rehearsal else f"{verb}d"
        self.tell(f"{self.client.name}: {done} {kind.kind} {key}")


def key_of(document: "Raw") -> Key:
    """Return the key of an object."""
    return Key(document["metadata"].get("namespace", ""), document["metadata"]["name"])


def _says(stored: "Raw", wanted: "Raw", *, with_metadata: bool) -> bool:
    """Tell whether all that is wanted is stored; what others added beside it does not matter."""
    plain = all(stored.get(field) == value for field, value in wanted.items() if field != "metadata")
    if not with_metadata:
        return plain
    return plain and all(
        wanted["metadata"].get(field, {}).items() <= (stored["metadata"].get(field) or {}).items()
        for field in ("labels", "annotations")
    )


def _renewed(stored: "Raw", wanted: "Raw") -> "Raw":
    """Return the wanted object as the successor of the stored version."""
    old, new = stored["metadata"], wanted["metadata"]
    metadata = {
        **old,
        "labels": {**(old.get("labels") or {}), **new.get("labels", {})},
        "annotations": {**(old.get("annotations") or {}), **new.get("annotations", {})},
    }
    return {**stored, **wanted, "metadata": metadata}
