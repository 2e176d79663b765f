"""What ends a command early: one sentence with the remedy, and the exit code.

CommandError         1: the operation failed
├── BadInputError    2: the input is invalid, or names something that does not exist
└── NoAnswerError    3: the daemon or a cluster does not answer, or refuses
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from manager.cli.conventions.exits import Exit


class CommandError(Exception):
    """Ends a command; the command group prints the message as one line and exits with the code."""

    code: ClassVar[Exit] = Exit.NEGATIVE


class BadInputError(CommandError):
    """The input is invalid, or names something that does not exist."""

    code = Exit.BAD_INPUT


class NoAnswerError(CommandError):
    """The daemon or a cluster does not answer, or refuses."""

    code = Exit.NO_ANSWER


def innermost(error: BaseException) -> BaseException:
    """Unpack a failure out of the groups that it travelled in."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn these errors, which are about the user's input, into a `BadInputError` with the same message."""
    try:
        yield
    except kinds as error:
        raise BadInputError(str(error)) from None
