"""What the OpenAPI document of Kueue's group tells about the Kueue that installed it.

Every authenticated user may read it. It tells the release, never the patch; definitions that an upgrade left as they
were tell of the earlier release.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from config.names import KUEUE_API_VERSION
from engine.versions.version import KueueVersion
from engine.vocabulary.gate_dialect import GateDialect

_SPOKEN: Final = KUEUE_API_VERSION.partition("/")[2]
_LAST_IN_0_19: Final = "v1beta1"
"""No longer served from v0.20 on."""


@dataclass(frozen=True, slots=True)
class ReleaseRange:
    """The releases that a schema may be of; None where it is not bounded."""

    oldest: int | None = None
    newest: int | None = None

    def __contains__(self, version: object) -> bool:
        if not isinstance(version, KueueVersion):
            return False
        is_too_old = self.oldest is not None and version.minor < self.oldest
        is_too_new = self.newest is not None and version.minor > self.newest
        return not is_too_old and not is_too_new

    @property
    def version(self) -> KueueVersion | None:
        """Return the release, if there is but one."""
        return KueueVersion(0, self.oldest) if self.oldest is not None and self.oldest == self.newest else None

    def __str__(self) -> str:
        if self.version is not None:
            return f"{self.version}.x"
        bounds = (self.oldest, self.newest)
        match bounds:
            case (None, None):
                return "unknown"
            case (None, newest):
                return f"v0.{newest} or earlier"
            case (oldest, None):
                return f"v0.{oldest} or later"
            case (oldest, newest):
                return f"v0.{oldest} to v0.{newest}"


UNKNOWN_RELEASE: Final = ReleaseRange()
_POD_SETS_SINCE_0_19: Final = 18
_BEFORE_GATES: Final[Mapping[int | None, ReleaseRange]] = {10: ReleaseRange(15, 15), 20: ReleaseRange(16, 16)}
"""By how many clusters a MultiKueueConfig may list."""


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """What the schema of a cluster's Workloads and queues shows."""

    is_described: bool = False
    """Whether there is a schema of Workloads at all."""
    dialect: GateDialect | None = None
    """How gates are spelled; None where that does not show."""
    has_gates: bool = True
    releases: ReleaseRange = UNKNOWN_RELEASE
    most_pod_sets: int | None = None
    """How many pod sets a Workload may have; None where that does not show."""


def schema_facts(openapi: object, served: Collection[str]) -> SchemaFacts:
    """Read the document of the group version that we speak, and the versions that are served; none if not known."""
    schemas = _Schemas(_within(openapi, "components", "schemas"))
    spec = schemas.fields("Workload", "spec")
    if not spec:
        is_older = bool(served) and _SPOKEN not in served
        return SchemaFacts(has_gates=not is_older, releases=ReleaseRange(None, 14) if is_older else UNKNOWN_RELEASE)
    has_gates = "preemptionGates" in spec
    gate = _within(schemas.fields("Workload", "status").get("preemptionGates"), "items", "properties")
    return SchemaFacts(
        is_described=True,
        dialect=next((each for each in GateDialect if each.state_field in gate), None),
        has_gates=has_gates,
        releases=_releases(schemas, served),
        most_pod_sets=_most(spec.get("podSets")),
    )


def _releases(schemas: "_Schemas", served: Collection[str]) -> ReleaseRange:
    """Return the releases whose definitions look like this; each line tells one release from those before it."""
    spec, queue = schemas.fields("Workload", "spec"), schemas.fields("ClusterQueue", "spec")
    if "preemptionGates" not in spec:
        clusters = _most(schemas.fields("MultiKueueConfig", "spec").get("clusters"))
        return _BEFORE_GATES.get(clusters, ReleaseRange(15, 16))
    if "unschedulable" in schemas.fields("MultiKueueCluster", "spec"):
        return ReleaseRange(21, None)
    if "effectiveQuotas" in schemas.fields("ClusterQueue", "status") or _stopped_serving_v1beta1(served):
        return ReleaseRange(20, None)
    if _most(spec.get("podSets")) == _POD_SETS_SINCE_0_19:
        return ReleaseRange(19, 20 if _has_slice_minimum(spec) else 19)
    return ReleaseRange(18, 18) if "concurrentAdmissionPolicy" in queue else ReleaseRange(17, 17)


def _stopped_serving_v1beta1(served: Collection[str]) -> bool:
    return _SPOKEN in served and _LAST_IN_0_19 not in served


def _has_slice_minimum(workload_spec: Mapping[str, object]) -> bool:
    path = ("items", "properties", "topologyRequest", "properties", "podSetSliceSize")
    return _within(workload_spec.get("podSets"), *path).get("minimum") == 1


def _most(schema: object) -> int | None:
    found = schema.get("maxItems") if isinstance(schema, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


class _Schemas:
    """The schemas of a document by kind; what has an odd shape is as good as absent."""

    def __init__(self, schemas: Mapping[str, object]) -> None:
        self._schemas = schemas

    def fields(self, kind: str, part: str) -> Mapping[str, object]:
        """Return the fields of a kind's spec or status."""
        schema = next((each for name, each in self._schemas.items() if name.endswith(f".{kind}")), None)
        return _within(schema, "properties", part, "properties")


def _within(document: object, *path: str) -> Mapping[str, object]:
    """Return the object at a path of names; an empty one where there is none."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}
