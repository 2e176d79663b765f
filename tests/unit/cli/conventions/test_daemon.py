"""Asking a daemon by its address: what is refused before a byte is sent."""

import http.client
from pathlib import Path

import pytest

from manager.cli.conventions.daemon import DaemonClient, NoDaemonError, daemon_of
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.options import DaemonOptions

BAD = {
    "no scheme": (
        {"server": "turnstile.example:8443"},
        '--server "turnstile.example:8443" is not allowed: must be http',
    ),
    "another scheme": ({"server": "ftp://x"}, "is not allowed: must be http://HOST:PORT"),
    "no host": ({"server": "https://"}, "is not allowed: must be http://HOST:PORT"),
    "an invalid port": ({"server": "https://x:99999"}, "is not allowed: must be http://HOST:PORT"),
    "credentials in the address": ({"server": "https://a:b@x"}, "is not allowed: must be http://HOST:PORT"),
    "a token without an address": ({"token_file": Path("t")}, "--token-file requires --server"),
    "authorities without one": (
        {"certificate_authority": Path("t")},
        "--certificate-authority requires --server",
    ),
    "a token in the open": (
        {"server": "http://x:1", "token_file": Path("token")},
        "--token-file requires an https address",
    ),
    "authorities for http": (
        {"server": "http://x:1", "certificate_authority": Path("token")},
        "--certificate-authority requires an https address",
    ),
    "no token file": ({"server": "https://x", "token_file": Path("none")}, "--token-file none does not exist"),
    "a token of two lines": ({"server": "https://x", "token_file": Path("two")}, "it must be one line of ASCII"),
    "no certificates": (
        {"server": "https://x", "certificate_authority": Path("token")},
        "--certificate-authority token contains no certificate; it must be PEM",
    ),
}


@pytest.mark.parametrize(("given", "want"), BAD.values(), ids=BAD)
def test_options_that_are_malformed_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], want: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text("s3cret\n")
    Path("two").write_text("s3cret\nmore\n")
    with pytest.raises(BadInputError) as caught:
        daemon_of(DaemonOptions(**given))  # type: ignore[arg-type]
    assert want in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_a_forwarded_port_may_have_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    daemon = daemon_of(DaemonOptions(server="http://127.0.0.1:8080/turnstile/", token_file=tmp_path / "token"))
    assert (daemon.token, daemon.prefix) == ("s3cret", "/turnstile")
    assert "s3cret" not in repr(daemon)


class _ForeignSocket(http.client.HTTPConnection):
    """The socket of another user."""

    def connect(self) -> None:
        raise PermissionError(13, "Permission denied")


def test_the_socket_of_another_user_is_explained() -> None:
    client = DaemonClient("/run/turnstile/api.sock", "", lambda: _ForeignSocket("localhost"))
    with pytest.raises(NoDaemonError) as caught:
        client.ask("overview")
    assert str(caught.value) == (
        "only the daemon's own user may open /run/turnstile/api.sock; "
        "run this as that user, such as with `sudo -u`, or ask the daemon's address with --server"
    )
