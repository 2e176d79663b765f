"""The exit codes, all of them. They are part of what scripts rely on: docs/cli.md lists them."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    NEGATIVE = 1
    """The command did its work and the answer is no: a finding, a difference, nothing fits."""
    BAD_INPUT = 2
    """A wrong option, a malformed file, an object that is not there."""
    NO_ANSWER = 3
    """The daemon, the hub or a worker could not be asked: not reachable, or it refused."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE_CLOSED = 141
    """Whoever read the output went away."""
