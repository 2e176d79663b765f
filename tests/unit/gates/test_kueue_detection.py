"""Which Kueue a cluster runs, from its schema and from everything that names a version."""

import orjson
import pytest

from engine.versions.version import KueueVersion
from engine.vocabulary.gate_dialect import GateDialect
from gates.detection.claims import VersionClaim, VersionSource
from gates.detection.detected import DetectedKueue, detected, kueue_document
from gates.detection.schema_facts import ReleaseRange, SchemaFacts, schema_facts
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.kinds import ServedKind
from localcluster.serving.openapi import OpenApi
from tests.support.kueue_schemas import V0_15, V0_16, V0_17, V0_18, V0_19, V0_20, V0_21, KueueSchema

BOTH, NEW = ("v1beta2", "v1beta1"), ("v1beta2",)

RELEASES: dict[str, tuple[KueueSchema, tuple[str, ...], str]] = {
    "0.15": (V0_15, BOTH, "v0.15.x"),
    "0.16": (V0_16, BOTH, "v0.16.x"),
    "0.17": (V0_17, BOTH, "v0.17.x"),
    "0.18": (V0_18, BOTH, "v0.18.x"),
    "0.19": (V0_19, BOTH, "v0.19.x"),
    "0.20": (V0_20, NEW, "v0.20 or later"),
    "0.20, while something serves v1beta1": (V0_20, BOTH, "v0.20 or later"),
    "a schema between 0.19 and 0.20": (KueueSchema(has_slice_minimum=True), BOTH, "v0.19 to v0.20"),
    "0.20 without its alpha fields": (KueueSchema(has_slice_minimum=True), NEW, "v0.20 or later"),
    "0.20 with alpha kinds": (V0_20, (*NEW, "v1alpha1"), "v0.20 or later"),
    "after 0.20": (V0_21, NEW, "v0.21 or later"),
    "the served versions are not known": (V0_19, (), "v0.19.x"),
    "before gates, whatever is served": (V0_16, NEW, "v0.16.x"),
    "before gates, with other limits": (KueueSchema(gates=False, clusters=7), BOTH, "v0.15 to v0.16"),
}


@pytest.mark.parametrize(("schema", "served", "want"), RELEASES.values(), ids=RELEASES.keys())
def test_a_schema_tells_the_release(schema: KueueSchema, served: tuple[str, ...], want: str) -> None:
    found = detected(schema_facts(schema.document(), served))
    assert (found.text, found.source) == (want, VersionSource.SCHEMA)


def test_a_kueue_that_does_not_serve_what_we_speak_is_from_before_it() -> None:
    found = detected(schema_facts({}, ("v1beta1",)))
    assert (found.text, found.knows_gates, found.schema.is_described) == ("v0.14 or earlier", False, False)


@pytest.mark.parametrize(
    ("kinds", "want"),
    [
        (all_kinds(), (GateDialect.KUEUE, True)),
        (all_kinds(gate_dialect=GateDialect.KEP), (GateDialect.KEP, True)),
        (all_kinds(preemption_gates=False), (None, False)),
    ],
    ids=["Kueue v0.19", "KEP-8303", "an older Kueue"],
)
def test_a_worker_says_itself_how_it_spells_gates(
    kinds: tuple[ServedKind, ...], want: tuple[GateDialect | None, bool]
) -> None:
    described = OpenApi(kinds).find("/openapi/v3/apis/kueue.x-k8s.io/v1beta2")
    assert described is not None
    found = schema_facts(orjson.loads(described[0]), NEW)
    assert (found.dialect, found.has_gates) == want


@pytest.mark.parametrize("document", [{}, {"components": {"schemas": {"a.Workload": {"properties": {}}}}}])
def test_a_document_that_does_not_tell_is_no_proof(document: object) -> None:
    assert schema_facts(document, NEW) == SchemaFacts()


VERSIONS: dict[str, KueueVersion | None] = {
    "v0.19.1": KueueVersion(0, 19, 1),
    "0.18": KueueVersion(0, 18),
    "v0.20.0-rc.1": KueueVersion(0, 20, 0, "-rc.1"),
    "v0.19.1+vendor.2": KueueVersion(0, 19, 1, "+vendor.2"),
    "v1.2.3": None,
    "v0.0.0": None,
    "v0.99999.1": None,
    "v0.19.1.4": None,
    "latest": None,
    "": None,
}


@pytest.mark.parametrize(("text", "want"), VERSIONS.items(), ids=[repr(text) for text in VERSIONS])
def test_claims(text: str, want: KueueVersion | None) -> None:
    assert VersionClaim(VersionSource.IMAGE, text).version == want


def kueue(schema: KueueSchema, *claims: tuple[VersionSource, str]) -> DetectedKueue:
    served = NEW if schema in (V0_20, V0_21) else BOTH
    return detected(schema_facts(schema.document(), served), [VersionClaim(*claim) for claim in claims])


CONFIGURED, IMAGE, LABELS, SCHEMA = VersionSource
FOUND: dict[str, tuple[DetectedKueue, tuple[str, VersionSource, bool, bool]]] = {
    # version, source, knows gates, has them on by default
    "the schema alone": (kueue(V0_19), ("v0.19.x", SCHEMA, True, False)),
    "the image tells the patch": (kueue(V0_19, (IMAGE, "v0.19.2")), ("v0.19.2", IMAGE, True, False)),
    "labels count after the image": (
        kueue(V0_19, (LABELS, "v0.19.0"), (IMAGE, "v0.19.2")),
        ("v0.19.2", IMAGE, True, False),
    ),
    "what is configured counts first": (
        kueue(V0_19, (IMAGE, "v0.19.2"), (CONFIGURED, "v0.19.0")),
        ("v0.19.0", CONFIGURED, True, False),
    ),
    "an impossible claim is passed over": (
        kueue(V0_19, (IMAGE, "v7.0.0"), (LABELS, "v0.19.1")),
        ("v0.19.1", LABELS, True, False),
    ),
    "0.20 has gates on": (kueue(V0_20), ("v0.20 or later", SCHEMA, True, True)),
    "0.20 by image and schema": (kueue(V0_20, (IMAGE, "v0.20.1")), ("v0.20.1", IMAGE, True, True)),
    "an image cannot switch gates on": (kueue(V0_19, (IMAGE, "v0.20.1")), ("v0.20.1", IMAGE, True, False)),
    "a configured version cannot either": (
        kueue(V0_18, (CONFIGURED, "v0.20.1")),
        ("v0.20.1", CONFIGURED, True, False),
    ),
    "new definitions with an older Kueue": (kueue(V0_20, (IMAGE, "v0.19.1")), ("v0.19.1", IMAGE, True, False)),
    "a Kueue that was downgraded below gates": (kueue(V0_19, (IMAGE, "v0.16.9")), ("v0.16.9", IMAGE, False, False)),
    "an image cannot bring gates into the schema": (
        kueue(V0_16, (IMAGE, "v0.20.0")),
        ("v0.20.0", IMAGE, False, False),
    ),
}


@pytest.mark.parametrize(("found", "want"), FOUND.values(), ids=FOUND.keys())
def test_what_is_concluded(found: DetectedKueue, want: tuple[str, VersionSource, bool, bool]) -> None:
    assert (found.text, found.source, found.knows_gates, found.has_gates_on) == want


PROBLEMS: dict[str, tuple[DetectedKueue, str]] = {
    "all agree": (kueue(V0_19, (IMAGE, "v0.19.1")), ""),
    "a later version than any known": (kueue(V0_21, (IMAGE, "v0.25.0")), ""),
    "impossible": (kueue(V0_19, (LABELS, "v7.0.0")), "an impossible version of Kueue is named (labels)"),
    "left behind": (kueue(V0_18, (IMAGE, "v0.19.1")), "CustomResourceDefinitions are those of v0.18.x"),
    "ahead": (kueue(V0_20, (IMAGE, "v0.19.1")), "its CustomResourceDefinitions are those of v0.20 or later"),
    "below gates": (kueue(V0_19, (IMAGE, "v0.16.9")), "v0.16.9 (image), from before preemption gates"),
}


@pytest.mark.parametrize(("found", "want"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_each_contradiction_is_one_problem(found: DetectedKueue, want: str) -> None:
    assert len(found.problems) == bool(want)
    assert want in "".join(found.problems)


def test_the_document_says_whether_the_patch_is_known() -> None:
    assert kueue_document(kueue(V0_19)) == {
        "version": "v0.19.x",
        "source": "schema",
        "isExact": False,
        "problems": [],
    }
    assert kueue_document(kueue(V0_19, (IMAGE, "v0.19.1")))["isExact"] is True


def test_a_range_has_words_for_each_bound() -> None:
    assert [str(ReleaseRange(*bounds)) for bounds in ((None, None), (None, 14), (20, None), (19, 20), (18, 18))] == [
        "unknown",
        "v0.14 or earlier",
        "v0.20 or later",
        "v0.19 to v0.20",
        "v0.18.x",
    ]
