"""The table of releases in docs/compatibility.md is that of the tests."""

from pathlib import Path

from tests.support.compatibility import table, written

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


def test_the_page_lists_the_releases_that_the_tests_run_with() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "make docs"
    assert table() in page
