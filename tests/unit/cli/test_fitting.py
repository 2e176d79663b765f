"""Tables and sentences in narrow terminals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manager.cli.conventions.options import Form
from manager.cli.conventions.output import TableColumn, TableView, rendered
from manager.cli.conventions.terminal import TerminalScreen, Tone
from manager.cli.display.fitting import GAP, ColumnNeed, Priority, cells, fit, shortened, wrapped

ESSENTIAL, USEFUL, EXTRA = Priority.ESSENTIAL, Priority.USEFUL, Priority.EXTRA
CASES: dict[str, tuple[list[ColumnNeed], int | None, list[int | None]]] = {
    "a pipe has no width": ([ColumnNeed(4, 300, ESSENTIAL), ColumnNeed(4, 9, EXTRA)], None, [300, 9]),
    "what fits is left alone": ([ColumnNeed(4, 10, ESSENTIAL), ColumnNeed(4, 8, EXTRA)], 20, [10, 8]),
    "the widest is shortened first": ([ColumnNeed(4, 8, ESSENTIAL), ColumnNeed(4, 100, ESSENTIAL)], 40, [8, 30]),
    "two wide ones share": ([ColumnNeed(4, 50, ESSENTIAL), ColumnNeed(4, 90, ESSENTIAL)], 42, [20, 20]),
    "the least important goes before others become illegible": (
        [ColumnNeed(4, 30, ESSENTIAL), ColumnNeed(4, 30, EXTRA), ColumnNeed(4, 30, USEFUL)],
        24,
        [11, None, 11],
    ),
    "an extra one goes before a sentence that matters is cut to a few words": (
        [ColumnNeed(4, 20, ESSENTIAL), ColumnNeed(8, 8, EXTRA), ColumnNeed(7, 200, ESSENTIAL)],
        55,
        [20, None, 33],
    ),
    "of equals the last goes": ([ColumnNeed(4, 20, USEFUL), ColumnNeed(4, 20, USEFUL)], 12, [12, None]),
    "essential ones become narrow instead": (
        [ColumnNeed(9, 9, ESSENTIAL), ColumnNeed(9, 40, ESSENTIAL), ColumnNeed(9, 9, EXTRA)],
        16,
        [7, 7, None],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_columns_share_the_width(case: str) -> None:
    needs, width, want = CASES[case]
    assert fit(needs, width) == want


@given(
    st.lists(
        st.builds(
            lambda head, more, priority: ColumnNeed(head, head + more, priority),
            st.integers(1, 20),
            st.integers(0, 200),
            st.sampled_from(Priority),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 250),
)
def test_a_table_is_never_wider_than_the_terminal(needs: list[ColumnNeed], width: int) -> None:
    fitted = fit(needs, width)
    kept = [each for each in fitted if each is not None]
    assert kept
    assert sum(kept) + GAP * (len(kept) - 1) <= width
    assert all(each is None or each <= need.natural for each, need in zip(fitted, needs, strict=True))
    if any(need.priority is ESSENTIAL for need, each in zip(needs, fitted, strict=True) if each is None):
        assert all(need.priority is ESSENTIAL for need, each in zip(needs, fitted, strict=True) if each is not None)


def test_a_table_whose_texts_are_wide_characters_fits_as_well() -> None:
    columns = (TableColumn("NAME", lambda each: each["name"]), TableColumn("NOTE", lambda each: each["note"]))
    items = [{"name": "日本語", "note": "日本語" * 20}, {"name": "a", "note": "b"}]
    screen = TerminalScreen(is_terminal=True, has_colours=True, width=30)
    lines = list(rendered(TableView("ThingList", items, columns, lambda _each: "", ""), Form.TABLE, screen))
    assert all(cells(line) <= 30 for line in lines)
    assert lines[2].index("b") == 8, "the second column begins in the same place of the screen"


@given(st.text(), st.integers(0, 40))
def test_a_text_is_cut_to_the_width(text: str, width: int) -> None:
    assert cells(shortened(text, width)) <= max(width, min(cells(text), width))


SENTENCES = {
    "short": ("next      nothing", 40, ["next      nothing"]),
    "a label keeps its place": (
        "next      the gate of east opens in 18 s, unless another worker has room",
        44,
        ["next      the gate of east opens in 18 s,", "          unless another worker has room"],
    ),
    "an indented line goes on deeper": (
        "  east would preempt team/render, priority 0",
        30,
        ["  east would preempt", "    team/render, priority 0"],
    ),
    "a long word is broken": ("ab " + "x" * 50, 25, ["ab", "  " + "x" * 23, "  " + "x" * 23, "  xxxx"]),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_sentence_is_broken_between_words(case: str) -> None:
    line, width, want = SENTENCES[case]
    assert wrapped(line, width) == want


def test_colours_take_no_room() -> None:
    line = f"{Tone.BAD}error\x1b[0m: it is broken"
    assert wrapped(line, 19) == [line]
