"""`turnstile healthcheck`: asks the daemon on this machine whether it is healthy, where the configuration says."""

import ipaddress
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Final

import typer

from manager.cli.conventions.configuration import ConfigFile, Seconds, configuration_of
from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError

if TYPE_CHECKING:
    from config.sections.http import Http

_PATH: Final = "/healthz"


def healthcheck(config: ConfigFile = None, timeout: Seconds = 3.0) -> None:
    """Ask the daemon on this machine whether it is healthy: for HEALTHCHECK of an image, or a monitor.

    Exits with 1 if it is not, with 3 if nothing answers.
    """
    connection = _connection(configuration_of(config).http, timeout)
    place = f"{connection.host}:{connection.port}{_PATH}"
    try:
        connection.request("GET", _PATH)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        raise NoAnswerError(f"{place} does not answer: {error}") from None
    finally:
        connection.close()
    if status != 200:
        raise CommandError(f"{place} answers {status}")
    typer.echo("healthy")


def _connection(http: "Http", seconds: float) -> HTTPConnection:
    """Prefer the port for probes, which never speaks TLS."""
    if http.probe_port:
        return HTTPConnection(_reachable(http.probe_bind_address), http.probe_port, timeout=seconds)
    if http.port == 0:
        raise BadInputError("http.port: is 0, so the port is not known; set it, or http.probePort")
    address = _reachable(http.bind_address)
    if http.certificate_file is None:
        return HTTPConnection(address, http.port, timeout=seconds)
    return HTTPSConnection(address, http.port, timeout=seconds, context=_unverified())


def _reachable(bound: str) -> str:
    """Return an address of this machine at which a server that is bound so can be reached."""
    address = ipaddress.ip_address(bound)
    if not address.is_unspecified:
        return bound
    return "127.0.0.1" if address.version == 4 else "::1"


def _unverified() -> ssl.SSLContext:
    """Trust any certificate: it names the Service, not this machine, and nothing secret is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
