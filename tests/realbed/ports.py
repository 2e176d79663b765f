"""Free loopback ports for processes that cannot be told "port 0" and asked afterwards.

Between choosing a port and its use by the process there is a moment. The kernel gives out ports of its own range to
every outgoing connection of the machine, so these ports lie below it: no program gets one there without asking for it.
"""

import random
import socket
from contextlib import ExitStack
from pathlib import Path

_LOWEST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_FIRST_OF_RANGE = 32_768


def free_ports(count: int) -> list[int]:
    """Return that many distinct ports, all held at once so that none is handed out twice."""
    candidates = range(_LOWEST, _first_of_range())
    with ExitStack() as held:
        found: list[int] = []
        for port in random.sample(candidates, len(candidates)):
            each = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            try:
                each.bind(("127.0.0.1", port))
            except OSError:
                continue  # in use
            found.append(port)
            if len(found) == count:
                return found
    raise OSError(f"no {count} ports of {_LOWEST} to {candidates.stop} are free on 127.0.0.1")


def _first_of_range() -> int:
    first = int(_RANGE.read_text().split()[0]) if _RANGE.exists() else _USUAL_FIRST_OF_RANGE
    return first if first > 2 * _LOWEST else _USUAL_FIRST_OF_RANGE
