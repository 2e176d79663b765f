"""Garbage collection and the end of namespaces."""

import pytest

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from localcluster.store.gc import OwnerGarbageCollector
from localcluster.store.patch import merge_patch
from localcluster.store.store import Store
from tests.unit.localcluster.serving import WIDGET, widget


@pytest.fixture
def collector(store: Store) -> OwnerGarbageCollector:
    return OwnerGarbageCollector(store, lambda: None)


def make(store: Store, name: str, *owners: Obj, blocks: bool = False, finalizer: str = "") -> Obj:
    obj = widget(name)
    if owners:
        obj["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "example.dev/v1",
                "kind": "Widget",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": blocks,
            }
            for owner in owners
        ]
    if finalizer:
        obj["metadata"]["finalizers"] = [finalizer]
    return store.create(WIDGET, obj, "default").version.obj


def names(store: Store) -> list[str]:
    return [obj["metadata"]["name"] for obj in store.list(WIDGET)]


def delete(store: Store, name: str, propagation: DeletionPropagation | None = None) -> None:
    store.delete(WIDGET, name, "default", DeleteOptions(propagation))


def test_dependents_follow_their_owner_down_the_whole_tree(store: Store, collector: OwnerGarbageCollector) -> None:
    root = make(store, "root")
    child = make(store, "child", root)
    make(store, "grandchild", child)
    make(store, "stranger")

    delete(store, "root")
    assert names(store) == ["child", "grandchild", "stranger"]
    collector.run()

    assert names(store) == ["stranger"]


def test_a_dependent_with_another_owner_stays_and_forgets_the_one_that_went(
    store: Store, collector: OwnerGarbageCollector
) -> None:
    one, two = make(store, "one"), make(store, "two")
    make(store, "child", one, two)

    delete(store, "one")
    collector.run()

    references = store.get(WIDGET, "child", "default")["metadata"]["ownerReferences"]
    assert [reference["name"] for reference in references] == ["two"]


def test_orphans_stay_and_forget_their_owner(store: Store, collector: OwnerGarbageCollector) -> None:
    make(store, "child", make(store, "root"))

    delete(store, "root", DeletionPropagation.ORPHAN)
    collector.run()

    assert names(store) == ["child"]
    assert "ownerReferences" not in store.get(WIDGET, "child", "default")["metadata"]


def test_in_the_foreground_the_owner_waits_for_dependents_that_block_it(
    store: Store, collector: OwnerGarbageCollector
) -> None:
    root = make(store, "root")
    make(store, "blocking", root, blocks=True, finalizer="example.dev/hold")
    make(store, "other", root)

    delete(store, "root", DeletionPropagation.FOREGROUND)
    collector.run()
    assert names(store) == ["blocking", "root"]

    store.patch(WIDGET, "blocking", lambda obj: merge_patch(obj, {"metadata": {"finalizers": None}}), "default")
    collector.run()
    assert names(store) == []


def test_an_object_whose_owner_never_existed_is_collected(store: Store, collector: OwnerGarbageCollector) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}
    make(store, "child", ghost)

    collector.run()

    assert names(store) == []


def test_an_object_whose_owner_is_of_an_unknown_kind_is_left_alone(
    store: Store, collector: OwnerGarbageCollector
) -> None:
    obj = widget("child")
    owner = {"apiVersion": "other.dev/v1", "kind": "Thing", "name": "x", "uid": "u"}
    obj["metadata"]["ownerReferences"] = [owner]
    store.create(WIDGET, obj, "default")

    collector.run()

    assert names(store) == ["child"]


def test_jobs_orphan_their_pods_unless_told_otherwise(store: Store, collector: OwnerGarbageCollector) -> None:
    jobs = store.kind("jobs", "batch")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example"}]}}
    job = store.create(jobs, {"metadata": {"name": "j"}, "spec": {"template": template}}, "default").version.obj
    pod: Obj = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "example"}]}}
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job["metadata"]["uid"]}
    pod["metadata"]["ownerReferences"] = [reference]
    store.create(store.kind("pods"), pod, "default")

    store.delete(jobs, "j", "default")
    collector.run()

    assert store.list(jobs) == []
    assert len(store.list(store.kind("pods"))) == 1


def test_a_deleted_namespace_takes_no_new_objects_and_goes_when_it_is_empty(
    store: Store, collector: OwnerGarbageCollector
) -> None:
    namespaces, secrets = store.kind("namespaces"), store.kind("secrets")
    store.create(namespaces, {"metadata": {"name": "team"}})
    store.create(secrets, {"metadata": {"name": "plain"}}, "team")
    store.create(secrets, {"metadata": {"name": "held", "finalizers": ["example.dev/hold"]}}, "team")

    deletion = store.delete(namespaces, "team")
    collector.run()

    assert deletion.version.obj["status"]["phase"] == "Terminating"
    assert [obj["metadata"]["name"] for obj in store.list(secrets, "team")] == ["held"]
    with pytest.raises(ApiError, match="because it is being terminated") as refused:
        store.create(secrets, {"metadata": {"name": "late"}}, "team")
    assert refused.value.code == 403
    assert refused.value.status()["details"]["causes"][0]["reason"] == "NamespaceTerminating"

    store.patch(secrets, "held", lambda obj: merge_patch(obj, {"metadata": {"finalizers": None}}), "team")
    collector.run()
    with pytest.raises(ApiError, match='namespaces "team" not found'):
        store.get(namespaces, "team")


def test_the_namespaces_a_cluster_needs_cannot_be_deleted(store: Store) -> None:
    with pytest.raises(ApiError, match="this namespace may not be deleted") as refused:
        store.delete(store.kind("namespaces"), "default")
    assert refused.value.code == 403
