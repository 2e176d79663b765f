"""Configuration files for tests."""

from collections.abc import Mapping

from config import names
from config.loading.loading import Loaded, parse_configuration
from config.reading.problems import ConfigurationError, Problem

HEADER = f"apiVersion: {names.CONFIG_API_VERSION}\nkind: {names.CONFIG_KIND}\n"


def load(body: str = "", environ: Mapping[str, str] | None = None) -> Loaded:
    """Load a file that has `body` from its third line on."""
    return parse_configuration((HEADER + body).encode(), "turnstile.yaml", environ or {})


def problems_of(raw: str | bytes, environ: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """Return the mistakes in a whole file."""
    content = raw if isinstance(raw, bytes) else raw.encode()
    try:
        parse_configuration(content, "turnstile.yaml", environ or {})
    except ConfigurationError as error:
        return error.problems
    return ()
