"""Completion of `kubectl turnstile`: kubectl runs `kubectl_complete-turnstile` with the words typed so far.

The last word is the one to complete and may be empty. The answer is one candidate a line, then `:` and a number that
tells kubectl what to do with them.
"""

import io
import os
import shlex
import sys
from contextlib import redirect_stdout
from typing import Final, NoReturn

_NO_FILES: Final = ":4"
"""Do not offer files."""
_PROGRAM: Final = "turnstile"
_VARIABLE: Final = "_TURNSTILE_COMPLETE"


def complete() -> NoReturn:
    """Print the candidates for the command line in the arguments."""
    sys.stdout.write("\n".join([*candidates(sys.argv[1:] or [""]), _NO_FILES]) + "\n")
    sys.exit(0)


def candidates(words: list[str]) -> list[str]:
    """Return what may complete the last word, as the shells' own completion would offer it."""
    from manager.cli.app import app

    os.environ[_VARIABLE] = "complete_bash"
    os.environ["COMP_WORDS"] = shlex.join([_PROGRAM, *words])
    os.environ["COMP_CWORD"] = str(len(words))
    printed = io.StringIO()
    try:
        with redirect_stdout(printed):
            app(args=[], prog_name=_PROGRAM, complete_var=_VARIABLE)
    except SystemExit:
        pass
    return [line for line in printed.getvalue().splitlines() if line]
