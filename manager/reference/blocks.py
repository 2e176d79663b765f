"""Blocks of a document that are generated: the text between two markers."""


def with_block(markdown: str, begin: str, end: str, block: str) -> str:
    """Return a document with the text between its markers replaced; raise ValueError if a marker is missing."""
    before, found_begin, rest = markdown.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"the document lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{block}\n{end}{after}"
