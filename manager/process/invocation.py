"""How a user types this program's name: it need not be on the PATH."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

_NAME: Final = "turnstile"


def typed_name() -> str:
    """Return the name, with its path where the shell would not find it."""
    if shutil.which(_NAME) is None and Path(sys.argv[0]).name == _NAME:
        return shlex.quote(sys.argv[0])
    return _NAME
