"""`turnstile healthcheck` finds the daemon where its configuration says, and tells well from unwell."""

import http.server
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from manager.cli.app import app
from tests.integration.endpoints.house import write_certificate

HEADER = {"apiVersion": "config.multikueue-turnstile.dev/v1alpha1", "kind": "Configuration"}


@contextmanager
def answering(status: int, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Serve one status at /healthz and return the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def asked(tmp_path: Path, http_settings: Mapping[str, object]) -> tuple[int, str]:
    path = tmp_path / "turnstile.yaml"
    path.write_text(yaml.safe_dump({**HEADER, "http": dict(http_settings)}))
    done = CliRunner().invoke(app, ["healthcheck", "--config", str(path)])
    return done.exit_code, done.output


def test_a_healthy_daemon_is_found_at_its_port(tmp_path: Path) -> None:
    with answering(200) as port:
        assert asked(tmp_path, {"port": port}) == (0, "healthy\n")


def test_the_port_for_probes_comes_first_and_may_be_bound_to_all_addresses(tmp_path: Path) -> None:
    with answering(200) as probes, answering(503) as port:
        settings = {"port": port, "probePort": probes, "probeBindAddress": "0.0.0.0"}  # noqa: S104
        assert asked(tmp_path, settings) == (0, "healthy\n")


def test_tls_with_a_certificate_of_another_name_is_no_obstacle(tmp_path: Path) -> None:
    write_certificate(tmp_path)
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with answering(200, context) as port:
        settings = {
            "port": port,
            "bindAddress": "0.0.0.0",  # noqa: S104
            "certificateFile": str(certificate),
            "keyFile": str(key),
            "authorization": "Kubernetes",
        }
        assert asked(tmp_path, settings) == (0, "healthy\n")


def test_an_unhealthy_daemon_is_told(tmp_path: Path) -> None:
    with answering(503) as port:
        code, said = asked(tmp_path, {"port": port})
    assert (code, said) == (1, f"error: 127.0.0.1:{port}/healthz answers 503\n")


def test_nothing_answers(tmp_path: Path) -> None:
    with answering(200) as port:
        pass
    code, said = asked(tmp_path, {"port": port})
    assert code == 3
    assert said.startswith(f"error: 127.0.0.1:{port}/healthz does not answer: ")


def test_a_port_that_nobody_knows_is_refused_by_name(tmp_path: Path) -> None:
    assert asked(tmp_path, {"port": 0}) == (
        2,
        "error: http.port: is 0, so the port is not known; set it, or http.probePort\n",
    )


@pytest.mark.parametrize("content", ["", "kind: Configuration\nhttp: {prt: 1}\n"])
def test_a_wrong_configuration_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "turnstile.yaml"
    path.write_text(content)
    done = CliRunner().invoke(app, ["healthcheck", "--config", str(path)])
    assert done.exit_code == 2
