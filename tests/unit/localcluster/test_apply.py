"""Server-side apply: ownership, conflicts, removal, list types."""

from typing import Any

import pytest

from localcluster.kinds.api_errors import ApiError
from localcluster.kinds.clock import ManualClock
from localcluster.store.patch import merge_patch
from localcluster.store.store import Store
from localcluster.store.write_options import WriteOptions, Written
from tests.unit.localcluster.serving import WIDGET, widget


def apply(store: Store, manager: str, *, force: bool = False, labels: Any = None, **spec: Any) -> Written:
    configuration = widget("a", **spec)
    if labels is not None:
        configuration["metadata"]["labels"] = labels
    return store.apply(WIDGET, configuration, "a", "default", options=WriteOptions(manager=manager, force=force))


def owned(store: Store) -> dict[str, Any]:
    entries = store.get(WIDGET, "a", "default")["metadata"]["managedFields"]
    return {f"{entry['manager']}/{entry.get('subresource', '')}": entry["fieldsV1"] for entry in entries}


def test_applying_to_a_free_name_creates_and_owns_only_what_was_said(store: Store) -> None:
    written = apply(store, "me", size=1)

    assert written.created
    assert written.version.obj["spec"] == {"size": 1, "colour": "grey"}
    assert owned(store) == {"me/": {"f:spec": {"f:size": {}}}}


def test_a_second_manager_conflicts_on_another_value_and_shares_an_equal_one(store: Store) -> None:
    apply(store, "one", size=1)
    apply(store, "two", size=1, colour="red")

    with pytest.raises(ApiError) as refused:
        apply(store, "two", size=2, colour="red")

    assert refused.value.code == 409
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    assert refused.value.status()["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".spec.size"}
    ]
    assert store.get(WIDGET, "a", "default")["spec"] == {"size": 1, "colour": "red"}


def test_several_conflicts_are_listed_by_manager(store: Store) -> None:
    apply(store, "one", size=1, colour="red")

    with pytest.raises(ApiError) as refused:
        apply(store, "two", size=2, colour="blue")

    want = 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.size\n- .spec.colour'
    assert sorted(refused.value.message.split("\n")) == sorted(want.split("\n"))


def test_force_takes_the_fields_away(store: Store) -> None:
    apply(store, "one", size=1, colour="red")
    apply(store, "two", force=True, size=2)

    assert store.get(WIDGET, "a", "default")["spec"] == {"size": 2, "colour": "red"}
    assert owned(store) == {"one/": {"f:spec": {"f:colour": {}}}, "two/": {"f:spec": {"f:size": {}}}}


def test_what_is_no_longer_applied_goes_unless_another_client_owns_it(store: Store) -> None:
    apply(store, "one", labels={"mine": "1", "shared": "1"}, size=1)
    apply(store, "two", labels={"shared": "1"})
    apply(store, "one", size=1)

    assert store.get(WIDGET, "a", "default")["metadata"]["labels"] == {"shared": "1"}


def test_giving_up_the_last_label_removes_the_map(store: Store) -> None:
    apply(store, "one", labels={"mine": "1"}, size=1)
    apply(store, "one", size=1)

    assert "labels" not in store.get(WIDGET, "a", "default")["metadata"]


def test_items_of_associative_lists_are_owned_one_by_one(store: Store) -> None:
    apply(store, "one", parts=[{"name": "wheel", "count": 4}])
    apply(store, "two", parts=[{"name": "door", "count": 2}])
    apply(store, "two", parts=[{"name": "door", "count": 3}])

    with pytest.raises(ApiError) as refused:
        apply(store, "two", parts=[{"name": "wheel", "count": 3}])
    assert refused.value.message.endswith('conflict with "one": .spec.parts[name="wheel"].count')

    apply(store, "one")
    assert store.get(WIDGET, "a", "default")["spec"]["parts"] == [{"name": "door", "count": 3}]


def test_members_of_sets_add_up_and_go_with_their_owner(store: Store) -> None:
    apply(store, "one", tags=["a", "b"])
    apply(store, "two", tags=["b", "c"])
    assert store.get(WIDGET, "a", "default")["spec"]["tags"] == ["a", "b", "c"]

    apply(store, "one")
    assert store.get(WIDGET, "a", "default")["spec"]["tags"] == ["b", "c"]


@pytest.mark.parametrize(("name", "value", "other"), [("steps", ["x"], ["z"]), ("selector", {"x": "y"}, {"z": "z"})])
def test_atomic_fields_are_owned_as_a_whole(store: Store, name: str, value: Any, other: Any) -> None:
    apply(store, "one", **{name: value})

    with pytest.raises(ApiError, match=rf"\.spec\.{name}"):
        apply(store, "two", **{name: other})
    apply(store, "two", force=True, **{name: other})

    assert store.get(WIDGET, "a", "default")["spec"][name] == other


def test_an_update_takes_ownership_of_what_it_changed(store: Store) -> None:
    apply(store, "one", size=1, colour="red")
    store.patch(
        WIDGET,
        "a",
        lambda obj: merge_patch(obj, {"spec": {"size": 2}}),
        "default",
        options=WriteOptions(manager="editor"),
    )

    assert owned(store) == {"one/": {"f:spec": {"f:colour": {}}}, "editor/": {"f:spec": {"f:size": {}}}}
    with pytest.raises(ApiError, match=r'conflict with "editor" using example.dev/v1: .spec.size'):
        apply(store, "one", size=1, colour="red")


def test_the_status_endpoint_has_owners_of_its_own(store: Store) -> None:
    apply(store, "one", size=1)
    configuration = {**widget("a", size=9), "status": {"phase": "Ready"}}
    options = WriteOptions(manager="one")
    store.apply(WIDGET, configuration, "a", "default", subresource="status", options=options)

    assert store.get(WIDGET, "a", "default")["spec"]["size"] == 1
    assert owned(store) == {"one/": {"f:spec": {"f:size": {}}}, "one/status": {"f:status": {"f:phase": {}}}}


def test_applying_the_same_again_changes_nothing(store: Store, clock: ManualClock) -> None:
    first = apply(store, "one", labels={"x": "y"}, size=1, parts=[{"name": "wheel", "count": 4}]).version
    clock.advance(60)

    again = apply(store, "one", labels={"x": "y"}, size=1, parts=[{"name": "wheel", "count": 4}]).version

    assert again is first


def test_managed_fields_may_not_be_applied(store: Store) -> None:
    configuration = widget("a")
    configuration["metadata"]["managedFields"] = [{}]

    with pytest.raises(ApiError, match=r"metadata\.managedFields must be nil"):
        store.apply(WIDGET, configuration, "a", "default")


def test_removing_an_owned_field_by_update_leaves_it_without_an_owner(store: Store) -> None:
    apply(store, "one", size=1, tags=["a"])
    store.patch(WIDGET, "a", lambda obj: merge_patch(obj, {"spec": {"tags": None}}), "default")

    assert owned(store) == {"one/": {"f:spec": {"f:size": {}}}}
