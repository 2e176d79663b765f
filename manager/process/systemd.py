"""Notifications to systemd: ready, reloading, stopping, alive. Outside systemd nothing is sent.

The protocol is one datagram of `KEY=value` lines to the socket that the environment names (sd_notify(3)).
"""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from manager.logging.logs import get_log

_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The service manager that started us, if one did."""

    address: str = ""
    watchdog_seconds: float | None = None
    """The longest interval between two keep-alives; None without a watchdog."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "Supervisor":
        """Find it; a variable that was meant for another process or is not valid is ignored."""
        address = environ.get("NOTIFY_SOCKET", "")
        interval, process = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        is_watched = interval.isdigit() and int(interval) > 0 and process in ("", str(os.getpid()))
        return cls(address, int(interval) / _MICROSECONDS if is_watched else None)

    def ready(self, status: str) -> None:
        """Say that the daemon works."""
        self._tell(f"READY=1\nSTATUS={status}")

    def reloading(self, monotonic_ns: int) -> None:
        """Say that the configuration is being read again; `ready` ends it."""
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={monotonic_ns // 1000}")

    def stopping(self) -> None:
        """Say that the daemon is on its way out."""
        self._tell("STOPPING=1\nSTATUS=Finishing what is on its way")

    def status(self, status: str) -> None:
        """Say in one line what the daemon does."""
        self._tell(f"STATUS={status}")

    def alive(self) -> None:
        """Send a keep-alive."""
        self._tell("WATCHDOG=1")

    def _tell(self, message: str) -> None:
        """Send one datagram; a service manager that does not listen must not end the daemon."""
        if not self.address:
            return
        target = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(0.0)
                sender.connect(target)
                sender.send(message.encode())
        except OSError as error:
            get_log().warning("systemd.unreachable", address=self.address, error=str(error))
