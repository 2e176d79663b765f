"""How often the interpreter looks for cyclic garbage in a service.

With its defaults it looks after every 700 new objects, and through all objects after each growth by a quarter: a sixth
of the processor time of the orchestrator, for next to nothing, because what a reconcile makes holds no cycles and goes
by reference counts.
"""

import gc
from typing import Final

_THRESHOLDS: Final = (50_000, 50, 1_000)
"""New objects before a look through these; such looks before one through what survived them; and those before one
through everything."""


def collect_rarely() -> None:
    """Leave what was made until now, modules above all, out of every later look, and look seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
