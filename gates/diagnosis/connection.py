"""Findings about the connection to a cluster: certificates, tokens, clocks. Pure: times are passed in."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.meta import format_time
from gates.diagnosis.finding import Finding, Topic, error, warning
from gates.model.settings import SECOND

DAY: Final = 24 * 3600 * SECOND
TOKEN_NOTICE_NS: Final = 7 * DAY
CERTIFICATE_NOTICE_NS: Final = 14 * DAY
NOTABLE_SKEW_NS: Final = 30 * SECOND


class Trouble(StrEnum):
    """Why a connection could not be made."""

    UNREACHABLE = "unreachable"
    SILENT = "silent"
    UNTRUSTED = "untrusted"
    MISNAMED = "misnamed"
    EXPIRED = "expired"
    NOT_TLS = "not-tls"


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a TLS handshake showed."""

    server: str
    trouble: Trouble | None = None
    detail: str = ""
    certificate_ends_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Expiries:
    """When the parts of a kubeconfig expire; None for what does not expire, or does not state it."""

    authority_ns: int | None = None
    client_certificate_ns: int | None = None
    token_ns: int | None = None
    token_is_renewed: bool = False
    """The token file is renewed from outside, so only an expired token is reported."""


_REMEDIES: Final = {
    Trouble.UNREACHABLE: (
        Topic.REACHABILITY,
        "{server} cannot be reached: {detail}",
        "check the address in its kubeconfig, and that it can be reached from the hub's network",
    ),
    Trouble.SILENT: (
        Topic.REACHABILITY,
        "{server} does not answer: {detail}",
        "check firewalls and network policies in between, and that the API server is running",
    ),
    Trouble.UNTRUSTED: (
        Topic.TLS,
        "the certificate of {server} is not signed by the authority in the kubeconfig: {detail}",
        "put the authority of that cluster into certificate-authority-data, for example with `turnstile worker rotate`",
    ),
    Trouble.MISNAMED: (
        Topic.TLS,
        "the certificate of {server} is for another name: {detail}",
        "use an address that the certificate names, or set tls-server-name in the kubeconfig to a name that it has",
    ),
    Trouble.EXPIRED: (
        Topic.TLS,
        "the certificate of {server} is not valid now: {detail}",
        "renew the API server's certificate, and check the clocks of both sides",
    ),
    Trouble.NOT_TLS: (
        Topic.TLS,
        "{server} does not speak TLS: {detail}",
        "check the port in the kubeconfig; it must be the API server's https address",
    ),
}


def handshake_findings(cluster: str, shaken: Handshake, now_ns: int) -> Iterator[Finding]:
    """Conclude from a handshake."""
    if shaken.trouble is not None:
        topic, message, remedy = _REMEDIES[shaken.trouble]
        yield error(cluster, topic, message.format(server=shaken.server, detail=shaken.detail), remedy)
    yield from _certificate(cluster, "the API server's certificate", shaken.certificate_ends_ns, now_ns)


def expiry_findings(cluster: str, expiries: Expiries, now_ns: int) -> Iterator[Finding]:
    """Conclude from when credentials expire."""
    yield from _certificate(cluster, "the authority in the kubeconfig", expiries.authority_ns, now_ns)
    yield from _certificate(cluster, "the client certificate", expiries.client_certificate_ns, now_ns)
    remedy = (
        "renew it with `turnstile worker rotate`"
        if cluster != "hub"
        else "renew the token in the hub's kubeconfig, or use a token file that is renewed"
    )
    ends = expiries.token_ns
    if ends is None:
        return
    if ends <= now_ns:
        yield error(cluster, Topic.TOKEN, f"the token expired at {format_time(ends)}", remedy)
    elif ends - now_ns <= TOKEN_NOTICE_NS and not expiries.token_is_renewed:
        yield warning(cluster, Topic.TOKEN, f"the token expires at {format_time(ends)}, {_left(ends - now_ns)}", remedy)


def skew_findings(cluster: str, skew_ns: int) -> Iterator[Finding]:
    """Conclude from how far a clock is off, as far as that is certain."""
    if abs(skew_ns) > NOTABLE_SKEW_NS:
        direction = "ahead of" if skew_ns > 0 else "behind"
        yield warning(
            cluster,
            Topic.CLOCK,
            f"its clock is {abs(skew_ns) // SECOND} s {direction} this machine's",
            "synchronise both with NTP; the daemon corrects for it, but conditions and logs disagree",
        )


def _certificate(cluster: str, what: str, ends_ns: int | None, now_ns: int) -> Iterator[Finding]:
    if ends_ns is None:
        return
    if ends_ns <= now_ns:
        yield error(cluster, Topic.TLS, f"{what} expired at {format_time(ends_ns)}", "renew it")
    elif ends_ns - now_ns <= CERTIFICATE_NOTICE_NS:
        left = _left(ends_ns - now_ns)
        yield warning(cluster, Topic.TLS, f"{what} expires at {format_time(ends_ns)}, {left}", "renew it before then")


def _left(span_ns: int) -> str:
    days, hours = span_ns // DAY, span_ns // (3600 * SECOND)
    return f"in {days} days" if days > 1 else f"in {hours} hours"
