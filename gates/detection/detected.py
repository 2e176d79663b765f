"""Which Kueue a cluster runs, concluded from everything that tells of it, the most reliable first.

What the operator configured counts before the image of Kueue's Deployment, that before the labels of its chart, and
those before the schema, which tells the release only.
Invariant: gates are expected to be on by default only where nothing contradicts it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from config.api.meta import Obj
from engine.versions.version import KueueVersion
from gates.detection.claims import VersionClaim, VersionSource
from gates.detection.gate_switch import FIRST_WITH_GATES, FIRST_WITH_GATES_ON, UNREAD, KueueSettings, gates_switched
from gates.detection.schema_facts import ReleaseRange, SchemaFacts

IMPOSSIBLE_VERSION: Final = "an impossible version of Kueue is named"
BEFORE_GATES: Final = "from before preemption gates, though its API has them"
OTHER_DEFINITIONS: Final = "but its CustomResourceDefinitions are those of"


@dataclass(frozen=True, slots=True)
class DetectedKueue:
    """What is known of a cluster's Kueue."""

    schema: SchemaFacts = field(default_factory=SchemaFacts)
    claims: tuple[VersionClaim, ...] = ()
    """In the order of their reliability."""
    settings: KueueSettings = UNREAD
    is_upgraded: bool = False
    """Its schema became one with gates on by default while it was connected: its pods may still be older."""

    @property
    def version(self) -> KueueVersion | None:
        """Return the version; None where not even the release is certain."""
        return next((claim.version for claim in self.claims if claim.version is not None), self.schema.releases.version)

    @property
    def source(self) -> VersionSource:
        """Return what told the version."""
        return next((claim.source for claim in self.claims if claim.version is not None), VersionSource.SCHEMA)

    @property
    def text(self) -> str:
        """Return the version for people: `v0.19.1`, `v0.19.x`, `v0.20 or later`."""
        version = self.version
        return str(version if version is not None and version.patch is not None else self._release)

    @property
    def _release(self) -> ReleaseRange:
        """Return the releases that it may be of, where the patch is not known."""
        version = self.version
        return self.schema.releases if version is None else ReleaseRange(version.minor, version.minor)

    @property
    def knows_gates(self) -> bool:
        """Return whether it knows preemption gates: neither its schema nor its version may be from before them."""
        return self.schema.has_gates and (self.version is None or self.version.minor >= FIRST_WITH_GATES)

    @property
    def has_gates_on(self) -> bool:
        """Return whether gates are on by default: schema and version say so, and its pods are known to be of it."""
        is_new = self.has_schema_with_gates_on and (self.version is None or self.version.minor >= FIRST_WITH_GATES_ON)
        deployment = self.settings.deployment
        is_running = not self.is_upgraded if deployment is None else deployment.rolled_out_ns is not None
        return is_new and is_running and not self.problems

    @property
    def has_schema_with_gates_on(self) -> bool:
        """Return whether its definitions are of a release that has gates on by default."""
        oldest = self.schema.releases.oldest
        return self.schema.has_gates and oldest is not None and oldest >= FIRST_WITH_GATES_ON

    @property
    def gates_switched(self) -> bool | None:
        """Return whether its Configuration or its arguments switch gates on or off; None where that is not known."""
        return None if self.settings.problems else gates_switched(self.settings, self.version)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what contradicts itself or cannot be."""
        return (*self._problems(), *self.settings.problems)

    def _problems(self) -> Iterator[str]:
        for claim in self.claims:
            if claim.version is None:
                yield f"{IMPOSSIBLE_VERSION} ({claim.source})"
        version, releases = self.version, self.schema.releases
        if version is None or version in releases:
            return
        if version.minor < FIRST_WITH_GATES and self.schema.has_gates:
            yield f"its Kueue is {version} ({self.source}), {BEFORE_GATES}"
        else:
            yield f"its Kueue is {version} ({self.source}), {OTHER_DEFINITIONS} {releases}: what they lack is dropped"


NOT_DETECTED: Final = DetectedKueue()


def detected(
    schema: SchemaFacts,
    claims: Sequence[VersionClaim] = (),
    settings: KueueSettings = UNREAD,
    before: DetectedKueue = NOT_DETECTED,
) -> DetectedKueue:
    """Put together what a cluster tells now; `before` is what it told earlier on."""
    order = list(VersionSource)
    ranked = tuple(sorted(claims, key=lambda claim: order.index(claim.source)))
    found = DetectedKueue(schema, ranked, settings)
    had_gates_off = before.schema.is_described and not before.has_schema_with_gates_on
    return replace(found, is_upgraded=found.has_schema_with_gates_on and (had_gates_off or before.is_upgraded))


def kueue_document(found: DetectedKueue) -> Obj:
    """Return what is known of a Kueue, for programs."""
    version = found.version
    return {
        "version": found.text,
        "source": str(found.source),
        "isExact": version is not None and version.patch is not None,
        "problems": list(found.problems),
    }
