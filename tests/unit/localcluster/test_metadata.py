"""Metadata is checked alike for all kinds: names, labels, annotations, owners, finalizers, and what may change."""

from typing import Any

import pytest

from localcluster.kinds.metadata import ANNOTATION_SIZE_LIMIT, validate_metadata
from localcluster.kinds.names import NameFormat, explain_label_key, explain_name
from tests.unit.localcluster.writing import find_kind

KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1"}

CREATE_CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "usual metadata": (
        {
            "labels": {"example.com/a": "b", "empty": ""},
            "annotations": {"Example.com/Note": "any text"},
            "ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "2"}],
            "finalizers": ["example.com/keep", "orphan"],
            "generateName": "w-",
        },
        [],
    ),
    "no name": ({"name": None}, ["metadata.name: Required value: name or generateName is required"]),
    "no namespace": ({"namespace": None}, ["metadata.namespace: Required value"]),
    "a label key with a space": ({"labels": {"a b": "c"}}, [f'metadata.labels: Invalid value: "a b": {KEY}']),
    "a label value that is too long": (
        {"labels": {"a": "x" * 64}},
        [f'metadata.labels: Invalid value: "{"x" * 64}": must be no more than 63 bytes'],
    ),
    "an annotation key with two slashes": (
        {"annotations": {"a/b/c": ""}},
        [
            f'metadata.annotations: Invalid value: "a/b/c": a valid label key {KEY.removeprefix("name part ")} '
            "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ],
    ),
    "annotations that are too big together": (
        {"annotations": {"a": "x" * ANNOTATION_SIZE_LIMIT}},
        ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    ),
    "a finalizer with a space": ({"finalizers": ["a b"]}, [f'metadata.finalizers: Invalid value: "a b": {KEY}']),
    "finalizers that contradict each other": (
        {"finalizers": ["orphan", "foregroundDeletion"]},
        [
            'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set"
        ],
    ),
    "an owner without a uid": (
        {"ownerReferences": [{**OWNER, "uid": ""}]},
        ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    ),
    "an owner without a version": (
        {"ownerReferences": [{**OWNER, "apiVersion": "batch/"}]},
        ['metadata.ownerReferences.apiVersion: Invalid value: "batch/": version must not be empty'],
    ),
    "two controllers": (
        {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "name": "k", "controller": True}]},
        [
            'metadata.ownerReferences: Invalid value: [{"apiVersion":"batch/v1","controller":true,"kind":"Job",'
            '"name":"j","uid":"1"},{"apiVersion":"batch/v1","controller":true,"kind":"Job","name":"k","uid":"1"}]: '
            'Only one reference can have Controller set to true. Found "true" in references for Job/j and Job/k'
        ],
    ),
}


@pytest.mark.parametrize(("extra", "want"), CREATE_CASES.values(), ids=CREATE_CASES.keys())
def test_create(extra: dict[str, Any], want: list[str]) -> None:
    metadata = {"name": "w", "namespace": "team", **extra}

    found = validate_metadata(find_kind("Workload"), {"metadata": metadata})

    assert [f"{error.field}: {error.message}" for error in found] == want


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    found = validate_metadata(find_kind("ClusterQueue"), {"metadata": {"name": "q", "namespace": "team"}})

    assert [error.message for error in found] == ["Forbidden: not allowed on this type"]


STORED = {
    "name": "w",
    "namespace": "team",
    "uid": "1",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "finalizers": ["a.b/c"],
}
UPDATE_CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "labels may change": ({}, {"labels": {"a": "b"}}, []),
    "identity may not": ({}, {"uid": "2"}, ['metadata.uid: Invalid value: "2": field is immutable']),
    "finalizers may be added while the object lives": ({}, {"finalizers": ["a.b/c", "d.e/f"]}, []),
    "no finalizer is added to a dying object": (
        {"deletionTimestamp": "2026-01-02T00:00:00Z"},
        {"finalizers": ["a.b/c", "d.e/f"]},
        [
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"d.e/f"}'
        ],
    ),
    "a dying object may lose finalizers": ({"deletionTimestamp": "2026-01-02T00:00:00Z"}, {"finalizers": []}, []),
}


@pytest.mark.parametrize(("before", "change", "want"), UPDATE_CASES.values(), ids=UPDATE_CASES.keys())
def test_update(before: dict[str, Any], change: dict[str, Any], want: list[str]) -> None:
    stored = {**STORED, **before}

    found = validate_metadata(find_kind("Workload"), {"metadata": {**stored, **change}}, {"metadata": stored})

    assert [f"{error.field}: {error.message}" for error in found] == want


NAME_CASES = {
    "a subdomain has dots": ("a.b-c", NameFormat.SUBDOMAIN, False, True),
    "a subdomain has no capitals": ("A", NameFormat.SUBDOMAIN, False, False),
    "a subdomain has at most 253 characters": ("a" * 254, NameFormat.SUBDOMAIN, False, False),
    "a label has no dots": ("a.b", NameFormat.LABEL, False, False),
    "a label has at most 63 characters": ("a" * 64, NameFormat.LABEL, False, False),
    "a name does not end with a dash": ("a-", NameFormat.SUBDOMAIN, False, False),
    "a prefix may": ("a-", NameFormat.SUBDOMAIN, True, True),
    "a path segment has colons": ("system:masters", NameFormat.PATH_SEGMENT, False, True),
    "a path segment has no slash": ("a/b", NameFormat.PATH_SEGMENT, False, False),
    "a path segment is not a dot": (".", NameFormat.PATH_SEGMENT, False, False),
}


@pytest.mark.parametrize(("name", "name_format", "is_prefix", "want"), NAME_CASES.values(), ids=NAME_CASES.keys())
def test_names(name: str, name_format: NameFormat, is_prefix: bool, want: bool) -> None:
    assert (explain_name(name, name_format, is_prefix=is_prefix) == []) == want


def test_a_label_key_without_its_parts() -> None:
    assert explain_label_key("/a") == ("prefix part must be non-empty",)
    assert explain_label_key("a.b/")[0] == "name part must be non-empty"
