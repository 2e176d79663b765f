"""Whether a worker honours preemption gates, as a cell of a table."""

from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.terminal import Tone

_TEXTS: Final = {"Honoured": "honoured", "Unknown": "unknown", "NotHonoured": "not honoured"}
_TONES: Final = {"Unknown": Tone.DOUBTFUL, "NotHonoured": Tone.BAD}


def gates_cell(gates: Obj | None) -> str:
    """Return the state, and in parentheses what happens where gates are not known to be honoured."""
    if not gates:
        return "-"
    state = str(gates["state"])
    text = printable(_TEXTS.get(state, state))
    return text if state == "Honoured" else f"{text} ({printable(gates['gatesUnsupported'])})"


def gates_tone(gates: Obj | None) -> Tone | None:
    """Return how the cell is coloured."""
    return _TONES.get(gates["state"]) if gates else None
