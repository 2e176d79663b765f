"""The store's manners: versions, conflicts, subresources, finalizers."""

import pytest

from localcluster.kinds.api_errors import ApiError
from localcluster.kinds.clock import ManualClock
from localcluster.store.admission import FieldValidation
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from localcluster.store.ledger import Change, ChangeType
from localcluster.store.patch import merge_patch
from localcluster.store.store import Store
from localcluster.store.write_options import WriteOptions
from tests.unit.localcluster.serving import WIDGET, store_with_default_namespace, widget


def test_a_new_object_gets_what_only_the_server_may_say(store: Store) -> None:
    sent = widget("a", size=1)
    sent["metadata"].update(uid="forged", generation=7, creationTimestamp="2000-01-01T00:00:00Z")
    sent["status"] = {"phase": "forged"}

    made = store.create(WIDGET, sent, "default").version.obj

    assert made["metadata"]["uid"] != "forged"
    assert made["metadata"]["resourceVersion"] == "2"
    assert made["metadata"]["generation"] == 1
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T12:00:00Z"
    assert made["spec"] == {"size": 1, "colour": "grey"}
    assert "status" not in made


def test_generated_names_carry_their_prefix_and_differ(store: Store) -> None:
    def make() -> str:
        obj = widget("")
        obj["metadata"] = {"generateName": "run-"}
        return str(store.create(WIDGET, obj, "default").version.obj["metadata"]["name"])

    names = {make() for _ in range(20)}

    assert len(names) == 20
    assert all(name.startswith("run-") and len(name) == 9 for name in names)


def test_a_taken_name_is_refused(store: Store) -> None:
    store.create(WIDGET, widget("a"), "default")

    with pytest.raises(ApiError, match=r'widgets.example.dev "a" already exists') as refused:
        store.create(WIDGET, widget("a"), "default")
    assert (refused.value.code, refused.value.reason) == (409, "AlreadyExists")


def test_a_stale_replacement_is_refused_and_changes_nothing(store: Store) -> None:
    first = store.create(WIDGET, widget("a", size=1), "default").version
    store.patch(WIDGET, "a", lambda obj: merge_patch(obj, {"spec": {"size": 2}}), "default")
    revision = store.ledger.revision
    stale = {**widget("a", size=3)}
    stale["metadata"] = {"name": "a", "resourceVersion": str(first.revision)}

    with pytest.raises(ApiError, match="the object has been modified") as refused:
        store.update(WIDGET, stale, "a", "default")

    assert refused.value.code == 409
    assert store.get(WIDGET, "a", "default")["spec"]["size"] == 2
    assert store.ledger.revision == revision


def test_a_replacement_without_a_version_is_refused_for_custom_resources(store: Store) -> None:
    store.create(WIDGET, widget("a"), "default")

    with pytest.raises(ApiError, match="must be specified for an update") as refused:
        store.update(WIDGET, widget("a"), "a", "default")
    assert refused.value.code == 422


def test_status_and_spec_cannot_touch_each_other(store: Store) -> None:
    store.create(WIDGET, widget("a", size=1), "default")

    def everything(size: int, phase: str) -> dict[str, object]:
        return {"metadata": {"labels": {"by": phase}}, "spec": {"size": size}, "status": {"phase": phase}}

    ready = everything(5, "Ready")
    by_status = store.patch(WIDGET, "a", lambda obj: merge_patch(obj, ready), "default", subresource="status")
    by_spec = store.patch(WIDGET, "a", lambda obj: merge_patch(obj, everything(6, "Broken")), "default")

    assert by_status.version.obj["spec"]["size"] == 1
    assert by_status.version.obj["status"] == {"phase": "Ready"}
    assert "labels" not in by_status.version.obj["metadata"]
    assert by_status.version.obj["metadata"]["generation"] == 1
    assert by_spec.version.obj["spec"]["size"] == 6
    assert by_spec.version.obj["status"] == {"phase": "Ready"}
    assert by_spec.version.obj["metadata"]["generation"] == 2


def test_a_write_that_changes_nothing_makes_no_version(store: Store) -> None:
    made = store.create(WIDGET, widget("a", size=1), "default").version
    seen: list[Change] = []
    store.subscribe(WIDGET, seen.append)

    again = store.patch(WIDGET, "a", lambda obj: merge_patch(obj, {"spec": {"size": 1}}), "default").version

    assert again is made
    assert seen == []


def test_labels_do_not_count_as_a_new_generation(store: Store) -> None:
    store.create(WIDGET, widget("a"), "default")

    labelled = store.patch(WIDGET, "a", lambda obj: merge_patch(obj, {"metadata": {"labels": {"x": "y"}}}), "default")

    assert labelled.version.obj["metadata"]["generation"] == 1


def test_a_dry_run_answers_but_stores_nothing(store: Store) -> None:
    written = store.create(WIDGET, widget("a"), "default", WriteOptions(dry_run=True))

    assert written.created
    assert "resourceVersion" not in written.version.obj["metadata"]
    assert store.list(WIDGET) == []


@pytest.mark.parametrize(
    ("policy", "want_warnings"),
    [(FieldValidation.WARN, ('unknown field "spec.wings"',)), (FieldValidation.IGNORE, ())],
)
def test_unknown_fields_are_dropped(store: Store, policy: FieldValidation, want_warnings: tuple[str, ...]) -> None:
    written = store.create(WIDGET, widget("a", wings=2), "default", WriteOptions(field_validation=policy))

    assert written.warnings == want_warnings
    assert "wings" not in written.version.obj["spec"]


def test_unknown_fields_are_refused_when_asked_to(store: Store) -> None:
    with pytest.raises(ApiError, match=r'strict decoding error: unknown field "spec.wings"') as refused:
        store.create(WIDGET, widget("a", wings=2), "default", WriteOptions(field_validation=FieldValidation.STRICT))
    assert refused.value.code == 400


def test_finalizers_hold_a_deleted_object_until_the_last_one_goes(store: Store) -> None:
    held = widget("a")
    held["metadata"]["finalizers"] = ["example.dev/one", "example.dev/two"]
    store.create(WIDGET, held, "default")
    seen: list[tuple[ChangeType, list[str]]] = []
    store.subscribe(WIDGET, lambda change: seen.append((change.type, _finalizers(change))))

    deletion = store.delete(WIDGET, "a", "default")
    assert not deletion.is_gone
    assert deletion.version.obj["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:00Z"
    _set_finalizers(store, ["example.dev/two"])
    _set_finalizers(store, [])

    assert store.list(WIDGET) == []
    assert seen == [
        (ChangeType.MODIFIED, ["example.dev/one", "example.dev/two"]),
        (ChangeType.MODIFIED, ["example.dev/two"]),
        (ChangeType.DELETED, []),
    ]


def test_no_finalizer_can_be_added_once_the_object_is_being_deleted(store: Store) -> None:
    held = widget("a")
    held["metadata"]["finalizers"] = ["example.dev/one"]
    store.create(WIDGET, held, "default")
    store.delete(WIDGET, "a", "default")

    with pytest.raises(ApiError, match="no new finalizers can be added") as refused:
        _set_finalizers(store, ["example.dev/one", "example.dev/two"])
    assert refused.value.code == 422


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(DeleteOptions(uid="another"), id="uid"),
        pytest.param(DeleteOptions(resource_version="1"), id="resourceVersion"),
    ],
)
def test_a_deletion_whose_precondition_fails_deletes_nothing(store: Store, options: DeleteOptions) -> None:
    store.create(WIDGET, widget("a"), "default")

    with pytest.raises(ApiError, match="in the precondition") as refused:
        store.delete(WIDGET, "a", "default", options)
    assert refused.value.code == 409
    assert len(store.list(WIDGET)) == 1


def test_a_deletion_that_orphans_leaves_the_work_to_the_collector(store: Store) -> None:
    store.create(WIDGET, widget("a"), "default")

    deletion = store.delete(WIDGET, "a", "default", DeleteOptions(DeletionPropagation.ORPHAN))

    assert deletion.version.obj["metadata"]["finalizers"] == ["orphan"]


def test_history_is_bounded_and_an_old_state_can_be_read_while_it_is_remembered(clock: ManualClock) -> None:
    store = store_with_default_namespace(clock, history=3)
    for name in "abc":
        store.create(WIDGET, widget(name), "default")
    collection = store.collection(WIDGET)
    after_b = store.get(WIDGET, "b", "default")["metadata"]["resourceVersion"]
    store.delete(WIDGET, "a", "default")

    assert [version.key[1] for version in collection.as_of(int(after_b), "default")] == ["a", "b"]
    assert collection.forgotten == 2
    assert [change.type for change in collection.changes_since(int(after_b))] == ["ADDED", "DELETED"]


def test_one_event_can_be_read_in_both_spellings(store: Store) -> None:
    core, events = store.kind("events"), store.kind("events", "events.k8s.io")
    seen: list[tuple[ChangeType, str]] = []
    store.subscribe(core, lambda change: seen.append((change.type, change.new.obj["message"])))
    made = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Widget", "name": "a", "namespace": "default"},
        "note": "hello",
        "reason": "Greeted",
        "action": "Greet",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.dev/greeter",
        "reportingInstance": "greeter-0",
    }

    written = store.create(events, made, "default").version
    stored = store.get(core, "e", "default")
    store.delete(events, "e", "default")

    assert (written.obj["note"], written.obj["apiVersion"]) == ("hello", "events.k8s.io/v1")
    assert (stored["message"], stored["involvedObject"]["name"], stored["apiVersion"]) == ("hello", "a", "v1")
    assert stored["metadata"]["resourceVersion"] == written.obj["metadata"]["resourceVersion"]
    assert store.list(core) == []
    assert seen == [(ChangeType.ADDED, "hello"), (ChangeType.DELETED, "hello")]


def test_a_pod_that_runs_somewhere_dies_slowly(store: Store) -> None:
    pods = store.kind("pods")
    spec = {"containers": [{"name": "main", "image": "example"}]}
    for name in ("bound", "unbound"):
        store.create(pods, {"metadata": {"name": name}, "spec": {**spec}}, "default")
    store.bind(pods, "bound", "default", {"target": {"kind": "Node", "name": "node-1"}})

    slow = store.delete(pods, "bound", "default")
    quick = store.delete(pods, "unbound", "default")
    forced = store.delete(pods, "bound", "default", DeleteOptions(grace_seconds=0))

    assert slow.version.obj["spec"]["nodeName"] == "node-1"
    assert slow.version.obj["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:30Z"
    assert (slow.is_gone, quick.is_gone, forced.is_gone) == (False, True, True)


def test_a_pod_cannot_be_bound_twice(store: Store) -> None:
    pods = store.kind("pods")
    spec = {"containers": [{"name": "main", "image": "example"}]}
    store.create(pods, {"metadata": {"name": "p"}, "spec": spec}, "default")
    store.bind(pods, "p", "default", {"target": {"name": "node-1"}})

    with pytest.raises(ApiError, match='pod p is already assigned to node "node-1"') as refused:
        store.bind(pods, "p", "default", {"target": {"name": "node-2"}})
    assert refused.value.code == 409


def _finalizers(change: Change) -> list[str]:
    return list(change.new.obj["metadata"].get("finalizers", []))


def _set_finalizers(store: Store, finalizers: list[str]) -> None:
    store.patch(WIDGET, "a", lambda obj: merge_patch(obj, {"metadata": {"finalizers": finalizers}}), "default")
