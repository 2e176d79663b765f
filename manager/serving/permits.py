"""What a handler may do with the request that it answers: let it last, and ask again whether it still may."""

from typing import Protocol

from aiohttp import web


class StreamPermit(Protocol):
    """The right of a request to be answered for longer."""

    async def holds(self) -> bool:
        """Tell whether the right has not been taken back."""
        ...

    def stay(self, seconds: float) -> None:
        """Let the connection last."""
        ...


class SocketPermit:
    """The right of the daemon's own user, who opened its socket."""

    async def holds(self) -> bool:
        """Hold for as long as the connection."""
        return True

    def stay(self, seconds: float) -> None:
        """Do nothing: the socket limits no connection."""


PERMIT = web.RequestKey("permit", StreamPermit)
