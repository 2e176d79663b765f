"""Anchors of headings, as GitHub makes them: the same links work there and on the site."""

import re


def github(heading: str, separator: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", separator)
