"""What the documents name in the sources is there: `path/file.py`, `path/file.py:name` and `path/folder/`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOTS = {*(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))}
NAMED = re.compile(r"`([a-z_]+/[\w./-]*?)(?::([A-Za-z_]\w*(?:\.\w+)?))?`")
STOP = re.compile(r"^\d+\. ", re.MULTILINE)
MOST_STOPS = 12
WIDEST = 110


def references(page: Path) -> Iterator[tuple[str, str]]:
    """Return the paths that a page names, each with the name of a definition in it, or an empty string."""
    for path, name in NAMED.findall(page.read_text()):
        if path.split("/")[0] in ROOTS:
            yield path, name


def definitions(path: Path) -> set[str]:
    """Return the names that a module defines, and those in its classes as `Class.name`."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        for name in _names(node):
            found.add(name)
            found |= {f"{name}.{inner}" for part in getattr(node, "body", ()) for inner in _names(part)}
    return found


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_what_a_page_names_exists(page: Path) -> None:
    problems = []
    for path, name in references(page):
        if not path.startswith("dist/") and not (ROOT / path).exists():  # dist/ is built
            problems.append(f"{path} does not exist")
        elif name and name not in definitions(ROOT / path):
            problems.append(f"{path} does not define {name}")
    assert problems == []


@pytest.mark.parametrize("page", ["glossary.md", "walkthrough.md", "architecture.md"])
def test_these_pages_name_definitions(page: str) -> None:
    assert len([name for _, name in references(ROOT / "docs" / page) if name]) >= 5


def test_a_walk_has_at_most_twelve_stops_each_in_a_file() -> None:
    _, *walks = (ROOT / "docs" / "walkthrough.md").read_text().split("\n## ")
    assert len(walks) >= 2
    for walk in walks:
        _, *stops = STOP.split(walk)
        assert 0 < len(stops) <= MOST_STOPS, walk.splitlines()[0]
        assert all(NAMED.search(stop) for stop in stops), walk.splitlines()[0]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_to_headings_that_exist(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?://)([^)#]*)#([^)]+)\)", page.read_text()):
        linked = page.parent / target if target else page
        headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
        assert anchor in anchors, f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_prose_is_wrapped(page: Path) -> None:
    """About 100 columns; tables, blocks and what cannot be broken (a code span, an address) are longer."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for line in prose.splitlines():
        breakable = re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
        assert line.startswith(("|", "#", "<!--")) or len(line) <= WIDEST or len(breakable) <= WIDEST // 2, line


def test_the_pictured_folders_are_in_the_order_of_the_import_rules() -> None:
    """The picture in architecture.md shows the layers of pyproject.toml, each line a layer."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    rules = (ROOT / "pyproject.toml").read_text()
    containers = re.findall(r'containers = \["(\w+)"\]\nexhaustive = true\nlayers = \[\n(.*?)\n\]', rules, re.DOTALL)
    assert len(containers) == 6
    for package, layers in containers:
        wanted = [line.replace(" : ", ", ") for line in re.findall(r'"(.*?)"', layers)]
        shown = re.search(rf"```\n{package}/\n(.*?)```", page, re.DOTALL)
        assert shown is not None, package
        rows = [re.split(r"\s{2,}", line.strip())[0] for line in shown.group(1).splitlines()]
        assert rows == wanted, package
