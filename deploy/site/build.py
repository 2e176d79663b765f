"""Builds the site of docs/ into a directory, with mkdocs: `python -P deploy/site/build.py dist/site`.

The pages are copied first: README.md becomes the first page, and links to other files lead to the repository.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
FILES: Final = "https://github.com/multikueue-turnstile/multikueue-turnstile/blob/main/"
_LINK: Final = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def lay_out(pages: Path) -> None:
    """Write the pages as the site has them."""
    shutil.copytree(ROOT / "docs", pages)
    for page in pages.rglob("*.md"):
        source = ROOT / "docs" / page.relative_to(pages)
        page.write_text(_with_links(page.read_text(), source))
    readme = ROOT / "README.md"
    (pages / "index.md").write_text(_with_links(readme.read_text(), readme))


def _with_links(text: str, source: Path) -> str:
    """Let links of a page lead to pages, and those to other files to the repository."""

    def rewritten(link: re.Match[str]) -> str:
        before, target, anchor, after = link[1], link[2], link[3] or "", link[4]
        if re.match(r"[a-z]+:", target):
            return link[0]
        found = (source.parent / target).resolve()
        docs = ROOT / "docs"
        if found == ROOT / "README.md":
            return f"{before}{_up(source)}index.md{anchor}{after}"
        if found.is_relative_to(docs) and found.is_file():
            return f"{before}{_up(source)}{found.relative_to(docs)}{anchor}{after}"
        return f"{before}{FILES}{found.relative_to(ROOT)}{anchor}{after}"

    return _LINK.sub(rewritten, text)


def _up(source: Path) -> str:
    """Return the way from a page to the first one."""
    docs = ROOT / "docs"
    return "../" * (len(source.relative_to(docs).parts) - 1) if source.is_relative_to(docs) else ""


def _navigation(given: list[Any], pages: Path) -> list[Any]:
    """List the pages of folders, which the configuration only names."""
    found: list[Any] = []
    for entry in given:
        if isinstance(entry, dict):
            ((title, value),) = entry.items()
            if isinstance(value, str) and value.endswith("/"):
                value = sorted(str(page.relative_to(pages)) for page in (pages / value).glob("*.md"))
            found.append({title: _navigation(value, pages) if isinstance(value, list) else value})
        else:
            found.append(entry)
    return found


def main(output: Path) -> None:
    """Build; any warning, such as a link that leads nowhere, is an error."""
    with tempfile.TemporaryDirectory() as scratch:
        pages = Path(scratch) / "docs"
        lay_out(pages)
        config = load_config(str(HERE / "mkdocs.yml"), docs_dir=str(pages), site_dir=str(output.resolve()), strict=True)
        config.nav = _navigation(config.nav, pages)
        build(config)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main(Path(sys.argv[1]))
