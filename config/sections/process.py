"""The sections about the daemon as a process: election, socket, log, journal and traces."""

import os
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import model_validator

from config.names import LONGEST_SOCKET_PATH
from config.sections.sections import DnsLabel, DnsSubdomain, FilePath, Section, refused_at
from config.types.choices import LogFormat, LogLevel
from config.types.field_types import ByteSize, CollectorUrl, GoDuration, OneOf, Switch

_SECOND: Final = timedelta(seconds=1)
_ON: Final = Switch()

_RENEWAL_JITTER: Final = 1.2
"""client-go waits up to this many retry periods between two tries, so a shorter renew deadline may hold only one."""


class LeaderElection(Section):
    """One instance acts, the others are on standby."""

    enabled: Annotated[bool, _ON] = True
    """Act only while holding the Lease."""
    lease_name: DnsSubdomain = "turnstile"
    """The name of the Lease."""
    namespace: DnsLabel | None = None
    """The namespace of the Lease. Without it `hub.namespace` is used."""
    lease_duration: Annotated[timedelta, GoDuration(_SECOND, "15s")] = timedelta(seconds=15)
    """How long others wait after the last renewal before one of them takes over. Longer than `renewDeadline`."""
    renew_deadline: Annotated[timedelta, GoDuration(_SECOND, "10s")] = timedelta(seconds=10)
    """How long the leader tries to renew before it stops acting. Longer than 1.2 times `retryPeriod`."""
    retry_period: Annotated[timedelta, GoDuration(timedelta(milliseconds=100), "2s")] = timedelta(seconds=2)
    """The time between two tries to get or renew the Lease."""

    @model_validator(mode="after")
    def _deadlines_nest(self) -> Self:
        if self.lease_duration <= self.renew_deadline:
            raise refused_at("lease_duration", self.lease_duration, "longer than renewDeadline")
        if self.renew_deadline <= self.retry_period * _RENEWAL_JITTER:
            raise refused_at("renew_deadline", self.renew_deadline, "longer than 1.2 times retryPeriod")
        return self


class Api(Section):
    """The daemon's answers to the `turnstile` commands on its machine."""

    socket: FilePath | None = Path("/run/turnstile/api.sock")
    """The socket that `turnstile status`, `explain`, `timeline`, `plan` and `shadow report` ask; only the daemon's own
    user may open it. A path at which another daemon answers, or that is not a socket, is refused, and so is one of more
    than 107 bytes. `null` opens no socket."""

    @model_validator(mode="after")
    def _fits_the_address_of_a_socket(self) -> Self:
        if self.socket is not None and len(os.fsencode(self.socket)) > LONGEST_SOCKET_PATH:
            raise refused_at("socket", str(self.socket), f"must be a path of at most {LONGEST_SOCKET_PATH} bytes")
        return self


class Logging(Section):
    """What is written to standard error."""

    format: Annotated[LogFormat, OneOf(LogFormat)] = LogFormat.JSON
    """One JSON object per line, or lines for people."""
    level: Annotated[LogLevel, OneOf(LogLevel)] = LogLevel.INFO
    """The lowest level that is written."""


class JournalSection(Section):
    """The record of decisions and of what they were based on."""

    path: FilePath | None = Path("/var/lib/turnstile/journal.db")
    """The file of the journal, used by one daemon only; `null` keeps no journal."""
    max_age: Annotated[timedelta, GoDuration(timedelta(minutes=1), "168h")] = timedelta(days=7)
    """Entries older than this are dropped."""
    max_size: Annotated[int, ByteSize(1 << 20, "256Mi")] = 256 << 20
    """The oldest entries are dropped when the file grows beyond this. With its log file it stays below twice this."""


class Tracing(Section):
    """One trace for each workload, over hub and workers."""

    endpoint: Annotated[str, CollectorUrl()] | None = None
    """Where spans are sent, by OTLP over HTTP; without it no spans are made. Requires the extra `tracing`. If
    the collector does not respond, spans are dropped; nothing else is affected."""
