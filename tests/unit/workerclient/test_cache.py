"""A cache never goes back in time, never forgets our own writes, and never takes the unreadable for absent."""

from config.api.meta import ObjectKey
from workerclient.objects.cache import Cache, Unreadable
from workerclient.wire.codec import Identity

A = ObjectKey("team", "a")
B = ObjectKey("team", "b")


def version(key: ObjectKey, resource_version: str, uid: str = "") -> Identity:
    return Identity(key, uid or f"uid-{key.name}", resource_version)


def listed(cache: Cache[str], resource_version: str, *items: Identity) -> list[ObjectKey]:
    listing = cache.begin_list()
    for item in items:
        listing.add(item, f"list {item.resource_version}")
    return listing.finish(resource_version)


def test_a_newer_version_is_news_and_an_older_one_is_not() -> None:
    cache: Cache[str] = Cache()
    assert cache.observe(version(A, "9"), "nine")
    assert cache.observe(version(A, "10"), "ten")
    assert not cache.observe(version(A, "9"), "nine")
    assert not cache.observe(version(A, "10"), "ten")
    assert cache.get(A) == "ten"
    assert cache.identity(A) == version(A, "10")


def test_versions_that_are_not_decimal_are_believed_in_the_order_of_the_watch() -> None:
    cache: Cache[str] = Cache()
    assert cache.observe(version(A, "z"), "first")
    assert cache.observe(version(A, "b"), "second")
    assert cache.observe(version(A, "٣"), "not decimal here either")
    assert cache.observe(version(A, "9" * 5000), "far too long to be one")
    assert cache.get(A) == "far too long to be one"


def test_our_own_write_is_there_at_once_and_its_echo_is_no_news() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5"), "seen")
    cache.wrote(version(A, "7"), "ours")
    assert not cache.observe(version(A, "6"), "someone else's, before ours")
    assert cache.get(A) == "ours"
    assert not cache.observe(version(A, "7"), "echo")
    assert cache.observe(version(A, "8"), "after ours")


def test_the_answer_to_a_write_that_the_watch_has_overtaken_does_not_bring_a_deleted_object_back() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5"), "seen")
    cache.observe_deletion(version(A, "8"))
    cache.wrote(version(A, "7"), "ours, answered late")
    assert cache.get(A) is None
    cache.observe_progress("12")
    cache.wrote(version(B, "11"), "overtaken by a bookmark")
    assert cache.get(B) is None


def test_our_own_delete_is_final_for_that_incarnation() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5"), "seen")
    cache.deleted(A, "uid-a")
    assert cache.get(A) is None
    assert not cache.observe(version(A, "6"), "on its way when we deleted")
    assert not cache.observe_deletion(version(A, "7"))
    assert cache.observe(version(A, "8", uid="second"), "a new one of that name")


def test_our_own_delete_is_final_for_incarnations_before_it_too() -> None:
    cache: Cache[str] = Cache()
    cache.wrote(version(A, "9", uid="second"), "second")
    cache.deleted(A, "second")
    assert not cache.observe(version(A, "4", uid="first"), "first, told late")
    assert cache.get(A) is None


def test_a_deletion_of_a_former_incarnation_leaves_the_new_one_alone() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5", uid="first"), "first")
    cache.deleted(A, "first")
    cache.wrote(version(A, "9", uid="second"), "second")
    assert not cache.observe_deletion(version(A, "8", uid="first"))
    assert cache.get(A) == "second"


def test_an_incarnation_is_told_by_its_uid_where_versions_cannot_be_compared() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "x9", uid="second"), "second")
    assert not cache.observe_deletion(version(A, "x8", uid="first"))
    assert cache.get(A) == "second"


def test_an_object_that_left_the_selector_before_our_write_brought_it_back_stays() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5"), "seen")
    cache.wrote(version(A, "9"), "ours, with the label again")
    assert not cache.observe_deletion(version(A, "7"))
    assert cache.get(A) == "ours, with the label again"


def test_deleting_an_incarnation_that_is_not_there_any_longer_changes_nothing() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5", uid="second"), "second")
    cache.deleted(A, "first")
    assert cache.get(A) == "second"


def test_a_list_removes_what_it_does_not_hold_and_makes_the_cache_complete() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "5"), "seen")
    assert not cache.synced
    assert listed(cache, "20", version(B, "11")) == [A]
    assert (cache.get(A), cache.get(B), cache.synced) == (None, "list 11", True)


def test_a_list_does_not_remove_what_we_created_after_it_was_taken() -> None:
    cache: Cache[str] = Cache()
    listing = cache.begin_list()
    cache.wrote(version(A, "21"), "ours")
    assert listing.finish("20") == []
    assert cache.get(A) == "ours"


def test_a_list_does_not_undo_our_newer_write() -> None:
    cache: Cache[str] = Cache()
    listing = cache.begin_list()
    cache.wrote(version(A, "21"), "ours")
    listing.add(version(A, "15"), "before ours")
    listing.finish("20")
    assert cache.get(A) == "ours"


def test_a_delete_during_a_list_holds_and_one_before_it_is_for_the_list_to_judge() -> None:
    cache: Cache[str] = Cache()
    listed(cache, "20", version(A, "15"), version(B, "16"))
    cache.deleted(A, "uid-a")
    listing = cache.begin_list()
    cache.deleted(B, "uid-b")
    listing.add(version(A, "22"), "it still waits for a finalizer")
    listing.add(version(B, "16"), "listed before we deleted it")
    listing.finish("25")
    assert cache.get(A) == "it still waits for a finalizer"
    assert cache.get(B) is None


def test_a_list_from_the_past_is_recognised() -> None:
    cache: Cache[str] = Cache()
    listed(cache, "20")
    assert cache.is_behind("19")
    assert not cache.is_behind("20")
    assert not cache.is_behind("not-decimal")


def test_a_new_history_may_begin_with_lower_versions() -> None:
    cache: Cache[str] = Cache()
    listed(cache, "1000", version(A, "900"), version(B, "901"))
    cache.start_new_history()
    assert listed(cache, "7", version(A, "3")) == [B]
    assert cache.get(A) == "list 3"
    assert cache.observe(version(A, "8"), "goes on from there")


def test_indexes_follow_every_change() -> None:
    cache: Cache[str] = Cache({"by first letter": lambda value: [value[0]], "by word": str.split})
    cache.observe(version(A, "1"), "one two")
    cache.observe(version(B, "2"), "one three")
    assert cache.keys_in("by first letter", "o") == {A, B}
    cache.observe(version(A, "3"), "two")
    assert cache.keys_in("by first letter", "o") == {B}
    assert cache.keys_in("by word", "two") == {A}
    cache.deleted(A, "uid-a")
    cache.observe_deletion(version(B, "4"))
    assert not cache.keys_in("by word", "two")
    assert not cache.keys_in("by word", "three")


def test_an_unreadable_object_is_there_but_in_no_index() -> None:
    cache: Cache[str] = Cache({"by word": str.split})
    problem = Unreadable(version(A, "2"), "spec.podSets must be a list")
    cache.observe(version(A, "1"), "one")
    cache.observe(version(A, "2"), problem)
    assert cache.get(A) is problem
    assert cache.unreadable() == [problem]
    assert not cache.keys_in("by word", "one")
    assert list(cache) == [A]
    cache.observe(version(A, "3"), "one")
    assert cache.keys_in("by word", "one") == {A}
    assert len(cache) == 1


def test_a_version_is_held_only_while_it_is_the_one_that_is_known() -> None:
    cache: Cache[str] = Cache()
    cache.observe(version(A, "9"), "nine")
    assert cache.holds(version(A, "9"))
    assert not cache.holds(version(A, "10"))
    assert not cache.holds(version(A, "9", uid="another incarnation"))
    assert not cache.holds(version(B, "9"))
    cache.observe(version(A, "z"), "not decimal: the watch is believed again")
    assert not cache.holds(version(A, "z"))
