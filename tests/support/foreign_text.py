"""Text from clusters that a terminal must not receive as it is."""

BAD = "<b>&\x1b[2J\x1b]0;owned\x07\x9b1m\r\x08two\nlines\u2028\u202e"


def unprintable(text: str) -> list[str]:
    """Return the signs that a terminal would obey; lines may end."""
    return sorted({sign for sign in text if not sign.isprintable() and sign != "\n"})
