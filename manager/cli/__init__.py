"""The `turnstile` command: the console script's entry point."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; the check comes first because a shadowed package breaks every later import."""
    from manager.cli.shadowing import shadowed_packages

    if problems := shadowed_packages():
        sys.stderr.write("".join(f"error: {problem}\n" for problem in problems))
        sys.exit(1)
    from manager.cli.app import app

    app()
    sys.exit(0)
