"""The `turnstile` command: the console script's entry point."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; the check comes first because a shadowed package breaks every later import."""
    from manager.cli.package_check import shadowed_packages

    if problems := shadowed_packages():
        sys.stderr.write("".join(f"error: {problem}\n" for problem in problems))
        sys.exit(1)
    from manager.cli.app import app
    from manager.cli.display.streams import prepare_streams

    prepare_streams()
    app(prog_name=program_name(sys.argv[0]))
    sys.exit(0)


def program_name(path: str) -> str:
    """Return how the command is called: kubectl runs a plugin by its file name, and users by two words."""
    name = path.rpartition("/")[2]
    return "kubectl turnstile" if name == "kubectl-turnstile" else "turnstile"
