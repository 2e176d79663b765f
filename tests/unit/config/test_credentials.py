"""Credentials are renewed before they expire, never in a tight loop, and never printed."""

import base64
import json
import traceback
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.kubeconfig.access import ClientCertificate, ClusterAccess, ExecPlugin
from config.kubeconfig.credentials import (
    TOKEN_FILE_PERIOD,
    Credential,
    CredentialError,
    exec_info,
    parse_exec_credential,
    parse_token_file,
    reread_token_file_at,
    token_expiry,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLUGIN = ExecPlugin("get-token", "client.authentication.k8s.io/v1")
SECRET = "planted-token-must-never-be-printed"


def jwt(claims: dict[str, Any]) -> str:
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"header.{payload}.signature"


def printed(status: object, **changes: object) -> bytes:
    document = {"apiVersion": PLUGIN.api_version, "kind": "ExecCredential", "status": status}
    return json.dumps(document | changes).encode()


def expiring(life: timedelta) -> Credential:
    return Credential("t", None, NOW + life)


@pytest.mark.parametrize(
    ("life", "want"),
    [
        (timedelta(hours=1), timedelta(minutes=55)),
        (timedelta(minutes=15), timedelta(minutes=12)),
        (timedelta(minutes=1), timedelta(seconds=48)),
        (timedelta(seconds=30), timedelta(seconds=20)),
        (timedelta(seconds=12), timedelta(seconds=6)),
        (timedelta(0), timedelta(0)),
        (timedelta(minutes=-1), timedelta(0)),
    ],
)
def test_renewal_comes_before_expiry(life: timedelta, want: timedelta) -> None:
    assert expiring(life).renew_at(NOW) == NOW + want


@given(st.timedeltas(timedelta(seconds=1), timedelta(days=3650)))
def test_renewal_is_always_inside_the_life_and_not_at_its_start(life: timedelta) -> None:
    renew_at = expiring(life).renew_at(NOW)
    assert renew_at is not None
    assert NOW + min(life / 2, timedelta(seconds=10)) <= renew_at < NOW + life


def test_without_an_expiry_only_a_refusal_by_the_server_renews() -> None:
    assert Credential("t", None, None).renew_at(NOW) is None
    assert not Credential("t", None, None).is_expired(NOW)


def test_expiry_is_inclusive() -> None:
    assert expiring(timedelta(0)).is_expired(NOW)
    assert not expiring(timedelta(microseconds=1)).is_expired(NOW)


def test_token_files_are_read_every_minute_or_earlier() -> None:
    forever = parse_token_file(b"opaque\n")
    assert (forever.token, forever.expires_at) == ("opaque", None)
    assert reread_token_file_at(forever, NOW) == NOW + TOKEN_FILE_PERIOD
    soon = parse_token_file(jwt({"exp": (NOW + timedelta(seconds=30)).timestamp()}).encode())
    assert reread_token_file_at(soon, NOW) == NOW + timedelta(seconds=20)
    late = parse_token_file(jwt({"exp": (NOW - timedelta(hours=1)).timestamp()}).encode())
    assert reread_token_file_at(late, NOW) == NOW + TOKEN_FILE_PERIOD


@pytest.mark.parametrize("raw", [b"", b" \n", b"\xff", f"{SECRET}\nsecond line".encode()])
def test_token_files_without_a_token(raw: bytes) -> None:
    with pytest.raises(CredentialError) as caught:
        parse_token_file(raw)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "token", ["opaque", "a.b", "a.!.c", jwt({}), jwt({"exp": "soon"}), jwt({"exp": 1e300}), "a.W10.c", "a.bnVsbA.c"]
)
def test_tokens_that_do_not_say_when_they_expire(token: str) -> None:
    assert token_expiry(token) is None


def test_an_exec_credential() -> None:
    status = {
        "token": "t",
        "clientCertificateData": "cert",
        "clientKeyData": "key",
        "expirationTimestamp": "2026-01-01T13:00:00Z",
    }
    credential = parse_exec_credential(printed(status), PLUGIN)
    assert credential == Credential("t", ClientCertificate(b"cert", b"key"), NOW + timedelta(hours=1))


def test_the_expiry_inside_a_token_counts_when_the_plugin_names_none() -> None:
    token = jwt({"exp": int(NOW.timestamp())})
    assert parse_exec_credential(printed({"token": token}), PLUGIN).expires_at == NOW


MISTAKES: dict[str, tuple[bytes, str]] = {
    "not JSON": (f"{{{SECRET}".encode(), "the exec plugin did not print JSON"),
    "deeply nested JSON": (b"[" * 100_000, "the exec plugin did not print JSON"),
    "too much": (b" " * (1 << 21), "the exec plugin printed more than a credential"),
    "a list": (b"[]", "the exec plugin did not print a JSON object"),
    "another kind": (
        printed({"token": SECRET}, kind="Secret"),
        "the exec plugin must print an ExecCredential of client.authentication.k8s.io/v1",
    ),
    "another version": (
        printed({"token": SECRET}, apiVersion="client.authentication.k8s.io/v1beta1"),
        "the exec plugin must print an ExecCredential of client.authentication.k8s.io/v1",
    ),
    "no status": (printed(None), "the exec plugin did not return a status"),
    "an empty status": (printed({}), "the exec plugin returned neither a token nor a client certificate"),
    "a token that is a list": (printed({"token": [SECRET]}), "the exec plugin returned a token that is not a string"),
    "a certificate alone": (
        printed({"clientCertificateData": SECRET}),
        "the exec plugin must return certificate and key together",
    ),
    "a time without a zone": (
        printed({"token": SECRET, "expirationTimestamp": "2026-01-01T00:00:00"}),
        "the exec plugin returned an expirationTimestamp without a time zone",
    ),
    "an invalid time": (
        printed({"token": SECRET, "expirationTimestamp": "tomorrow"}),
        "the exec plugin returned an expirationTimestamp that is not RFC 3339",
    ),
    "a token with a line break": (
        printed({"token": f"{SECRET}\nX: y"}),
        "the exec plugin gave a token with characters that an HTTP header cannot carry",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_what_is_not_an_exec_credential(case: str) -> None:
    raw, want = MISTAKES[case]
    with pytest.raises(CredentialError) as caught:
        parse_exec_credential(raw, PLUGIN)
    assert str(caught.value) == want
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_no_repr_shows_a_secret() -> None:
    credential = Credential(SECRET, ClientCertificate(SECRET.encode(), SECRET.encode()), NOW)
    assert SECRET not in repr(credential)


def test_exec_info() -> None:
    access = ClusterAccess("https://w", ca=b"pem", tls_server_name="w.internal")
    assert json.loads(exec_info(access, PLUGIN)) == {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    told = ExecPlugin("x", PLUGIN.api_version, provide_cluster_info=True, cluster_config={"audience": "a"})
    assert json.loads(exec_info(access, told))["spec"]["cluster"] == {
        "server": "https://w",
        "tls-server-name": "w.internal",
        "certificate-authority-data": base64.b64encode(b"pem").decode(),
        "config": {"audience": "a"},
    }
