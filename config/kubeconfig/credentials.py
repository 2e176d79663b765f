"""When a credential that is issued elsewhere must be fetched again. Pure: time comes in as an argument.

client-go runs an exec plugin again only after its credential expired, so that some request fails or waits first. Here
it is renewed before: with a fifth of its life left, at most five minutes and at least ten seconds ahead.
"""

import base64
import binascii
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from config.kubeconfig.access import ClientCertificate, ClusterAccess, ExecPlugin
from config.types.syntax import TOKEN, UNSENDABLE

NOT_JSON: Final = "the exec plugin did not print JSON"
TOKEN_FILE_PERIOD: Final = timedelta(minutes=1)
"""How often a token file is read again: the kubelet renews projected tokens long before they expire."""

_LONGEST_LEAD: Final = timedelta(minutes=5)
_SHORTEST_LEAD: Final = timedelta(seconds=10)
_LARGEST_CREDENTIAL: Final = 1 << 20


class CredentialError(ValueError):
    """What a plugin or a token file gave is not a credential. The message never quotes it."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token, a client certificate or both, and until when they are valid (None: unknown)."""

    token: str | None = field(repr=False)
    client_certificate: ClientCertificate | None
    expires_at: datetime | None

    def is_expired(self, now: datetime) -> bool:
        """Return whether a request made now would be refused."""
        return self.expires_at is not None and now >= self.expires_at

    def renew_at(self, obtained_at: datetime) -> datetime | None:
        """Return when to fetch the next one; None means only after the server refused this one."""
        if self.expires_at is None:
            return None
        life = self.expires_at - obtained_at
        lead = min(max(life / 5, _SHORTEST_LEAD), _LONGEST_LEAD)
        # A credential that lives shorter than the lead must not be fetched in a tight loop.
        return max(self.expires_at - lead, obtained_at + min(life / 2, _SHORTEST_LEAD), obtained_at)


def reread_token_file_at(credential: Credential, read_at: datetime) -> datetime:
    """Return when to read a token file again: after a minute, or earlier when its token ends earlier."""
    regular = read_at + TOKEN_FILE_PERIOD
    renew_at = credential.renew_at(read_at)
    return regular if renew_at is None or renew_at <= read_at else min(regular, renew_at)


def parse_token_file(raw: bytes) -> Credential:
    """Read the content of a token file; a JWT's own expiry counts."""
    try:
        token = raw.decode("ascii").strip()
    except UnicodeDecodeError:
        raise CredentialError("the token file does not hold a token") from None
    if not token:
        raise CredentialError("the token file is empty")
    return Credential(_checked_token(token, "the token file"), None, token_expiry(token))


def parse_exec_credential(raw: bytes, plugin: ExecPlugin) -> Credential:
    """Read what an exec plugin printed: an ExecCredential of the version that it was asked for."""
    printed = _object(raw)
    if printed.get("kind") != "ExecCredential" or printed.get("apiVersion") != plugin.api_version:
        raise CredentialError(f"the exec plugin must print an ExecCredential of {plugin.api_version}")
    status = printed.get("status")
    if not isinstance(status, dict):
        raise CredentialError("the exec plugin did not return a status")
    token = _optional_text(status, "token")
    certificate = _client_certificate(status)
    if token is None and certificate is None:
        raise CredentialError("the exec plugin returned neither a token nor a client certificate")
    expires_at = _timestamp(_optional_text(status, "expirationTimestamp"))
    return Credential(
        token=None if token is None else _checked_token(token, "the exec plugin"),
        client_certificate=certificate,
        expires_at=expires_at or (token_expiry(token) if token else None),
    )


def exec_info(access: ClusterAccess, plugin: ExecPlugin) -> str:
    """Return the value of KUBERNETES_EXEC_INFO with which a plugin is started."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        described = {
            "server": access.server,
            "tls-server-name": access.tls_server_name,
            "certificate-authority-data": base64.b64encode(access.ca).decode()
            if isinstance(access.ca, bytes)
            else None,
            "proxy-url": access.proxy_url,
            "config": plugin.cluster_config,
        }
        spec["cluster"] = {name: value for name, value in described.items() if value is not None}
    return json.dumps({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def token_expiry(token: str) -> datetime | None:
    """Return when a JWT says that it expires; None for a token that is not a JWT or does not say."""
    try:
        return datetime.fromtimestamp(_claims(token)["exp"], UTC)
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return None


def token_subject(token: str) -> str:
    """Return whose a JWT says that it is; nothing for a token that is not a JWT or does not say."""
    try:
        return str(_claims(token)["sub"])
    except (ValueError, KeyError, TypeError):
        return ""


def _claims(token: str) -> Any:
    """Return what a JWT says, unverified; raises ValueError for a token that is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("not a JWT")
    try:
        return json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, RecursionError) as error:
        raise ValueError("not a JWT") from error


def _object(raw: bytes) -> dict[str, Any]:
    if len(raw) > _LARGEST_CREDENTIAL:
        raise CredentialError("the exec plugin printed more than a credential")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        # Without the cause: a JSON error holds the document, and the document holds the token.
        raise CredentialError(NOT_JSON) from None
    if not isinstance(value, dict):
        raise CredentialError("the exec plugin did not print a JSON object")
    return value


def _client_certificate(status: dict[str, Any]) -> ClientCertificate | None:
    certificate, key = _optional_text(status, "clientCertificateData"), _optional_text(status, "clientKeyData")
    if (certificate is None) != (key is None):
        raise CredentialError("the exec plugin must return certificate and key together")
    return ClientCertificate(certificate.encode(), key.encode()) if certificate and key else None


def _optional_text(status: dict[str, Any], key: str) -> str | None:
    value = status.get(key)
    if not isinstance(value, str | None):
        raise CredentialError(f"the exec plugin returned a {key} that is not a string")
    return value or None


def _timestamp(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CredentialError("the exec plugin returned an expirationTimestamp that is not RFC 3339") from None
    if moment.tzinfo is None:
        raise CredentialError("the exec plugin returned an expirationTimestamp without a time zone")
    return moment


def _checked_token(token: str, source: str) -> str:
    if not TOKEN.fullmatch(token):
        raise CredentialError(f"{source} gave a token with {UNSENDABLE}")
    return token
