"""What ends a command early: one sentence with the remedy, and the exit code.

CommandError
├── BadInputError    2: what the user gave is wrong, or names something that is not there
└── NoAnswerError    3: somebody who has to be asked does not answer, or refuses
"""

from typing import ClassVar

from manager.cli.conventions.exits import Exit


class CommandError(Exception):
    """Ends a command; the command group prints the message as one line and exits with the code."""

    code: ClassVar[Exit] = Exit.NEGATIVE


class BadInputError(CommandError):
    """What the user gave is wrong, or names something that is not there."""

    code = Exit.BAD_INPUT


class NoAnswerError(CommandError):
    """Somebody who has to be asked does not answer, or refuses."""

    code = Exit.NO_ANSWER
