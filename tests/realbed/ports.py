"""Free loopback ports for processes that cannot be told "port 0" and asked afterwards."""

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Return that many distinct ports, all held at once so that none is handed out twice."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
