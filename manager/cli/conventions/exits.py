"""All exit codes. Scripts rely on them: docs/cli.md lists them."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    NEGATIVE = 1
    """A negative answer (a finding, a difference, nothing fits), or an operation that failed."""
    BAD_INPUT = 2
    """An invalid option, a malformed file, an object that does not exist."""
    NO_ANSWER = 3
    """The daemon, the hub or a worker did not answer, or refused."""
    INTERRUPTED = 130
    """Ctrl-C."""
    PIPE_CLOSED = 141
    """The reader of the output closed the pipe."""
