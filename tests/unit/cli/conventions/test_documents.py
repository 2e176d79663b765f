"""YAML and JSON that users give to commands are loaded in one place, within bounds, and say one thing per key."""

import pytest

from manager.cli.reading.bounds import MAX_DEPTH
from manager.cli.reading.documents import UnusableDocumentError, load_documents


def test_times_stay_text_and_documents_stay_apart() -> None:
    assert load_documents(b"a: 2026-01-01T00:00:00Z\n---\nb: [1, true, null]\n") == [
        {"a": "2026-01-01T00:00:00Z"},
        {"b": [1, True, None]},
    ]
    assert load_documents(b' {"a": 1}') == [{"a": 1}]


UNUSABLE = {
    "a key twice": (b"spec:\n  cpu: 1\n  cpu: 2\n", '"cpu" is given twice (line 3)'),
    "a key twice in a list": (b"items:\n- {kind: Job, kind: Pod}\n", '"kind" is given twice (line 2)'),
    "too deep": (b"[" * (MAX_DEPTH + 1), f"it is nested more than {MAX_DEPTH} deep"),
    "too deep as JSON": (b'{"a":' * 300 + b"1" + b"}" * 300, f"it is nested more than {MAX_DEPTH} deep"),
    "an alias of nothing": (b"a: *x\n", "the alias 'x' refers to nothing or to itself"),
    "not JSON": (b"{", "not JSON: "),
    "not YAML": (b"a: [1\n", "not YAML: "),
    "not text": (b"\xff\xfe\x00", "not YAML: "),
}


@pytest.mark.parametrize(("content", "want"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_loaded_is_refused_in_one_sentence(content: bytes, want: str) -> None:
    with pytest.raises(UnusableDocumentError) as refused:
        load_documents(content)
    assert str(refused.value).startswith(want)


def test_one_anchor_may_be_used_in_many_places_and_keys_may_be_merged() -> None:
    (found,) = load_documents(b"a: &x {cpu: 1}\nb: *x\nc: {<<: *x, cpu: 2}\n")
    assert found == {"a": {"cpu": 1}, "b": {"cpu": 1}, "c": {"cpu": 2}}
