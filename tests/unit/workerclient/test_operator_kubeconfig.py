"""What an operator's kubeconfig grants: merged files, every way to authenticate, and one line for all that is wrong."""

import asyncio
import base64
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from config.kubeconfig.access import ClientCertificate, ClusterAccess
from config.kubeconfig.credentials import NOT_JSON
from config.kubeconfig.policy import NO_CREDENTIALS
from config.types.syntax import UNSENDABLE
from manager.base.clock import SystemClock
from tests.support.virtual_time import VirtualClock
from workerclient.operator.errors import OperatorKubeconfigError
from workerclient.operator.kubeconfig import load_operator_access

SERVER = "https://hub.example:6443"
SECRET = "planted-secret"
PEM = b"-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
Obj = dict[str, Any]


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def id_token(expires: int) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"sub": "jörg?>~", "exp": expires}).encode()).decode().rstrip("=")
    return f"h.{claims}.{SECRET}"


def oidc(token: str, name: str = "oidc") -> Obj:
    settings = {"id-token": token, "refresh-token": SECRET, "client-id": "c", "idp-issuer-url": "https://idp.invalid"}
    return {"auth-provider": {"name": name, "config": settings}}


def plugin(directory: Path, script: str, **more: object) -> Obj:
    """Return a user with an exec plugin that is a shell script."""
    path = directory / "plugin"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    api = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
    return {"exec": {**api, "command": "./plugin", **more}}


def printing(token: str) -> str:
    status = {"token": token}
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"echo '{json.dumps(credential)}'"


def write(directory: Path, user: Obj | None, cluster: Obj | None = None, **more: object) -> Path:
    document = {
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
        **more,
    }
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


async def load(path: Path) -> ClusterAccess:
    return await load_operator_access([path], "one", SystemClock(), {"PATH": os.environ["PATH"]})


GRANTS: dict[str, tuple[Obj, ClusterAccess]] = {
    "a token": ({"token": "t"}, ClusterAccess(SERVER, token="t")),
    "an OIDC login": (
        oidc(id_token(4_000_000_000)),
        ClusterAccess(SERVER, token=id_token(4_000_000_000), token_is_renewed=True),
    ),
    "a client certificate": (
        {"client-certificate-data": encoded(PEM), "client-key-data": encoded(PEM)},
        ClusterAccess(SERVER, client_certificate=ClientCertificate(PEM, PEM)),
    ),
}


@pytest.mark.parametrize("name", GRANTS)
async def test_every_way_to_authenticate_is_read(tmp_path: Path, name: str) -> None:
    user, granted = GRANTS[name]
    assert await load(write(tmp_path, user)) == granted


async def test_the_cluster_is_described_as_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(PEM)
    cluster = {"certificate-authority": "ca.crt", "tls-server-name": "other", "proxy-url": "http://proxy.example:3128"}
    access = await load(write(tmp_path, {"token": "t"}, cluster))
    assert (access.ca, access.tls_server_name, access.proxy_url) == (PEM, "other", "http://proxy.example:3128")


async def test_an_exec_plugin_gives_the_token_and_learns_the_cluster(tmp_path: Path) -> None:
    script = 'test "$WHO" = operator || exit 9\necho "$KUBERNETES_EXEC_INFO" >info\n' + printing("from-plugin")
    user = plugin(tmp_path, f"cd {tmp_path}\n{script}", env=[{"name": "WHO", "value": "operator"}])
    user["exec"]["provideClusterInfo"] = True
    access = await load(write(tmp_path, user))
    assert (access.token, access.token_is_renewed) == ("from-plugin", True)
    assert json.loads((tmp_path / "info").read_text())["spec"]["cluster"]["server"] == SERVER


async def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    user = {"client-certificate-data": encoded(PEM), "client-key-data": encoded(PEM)}
    await load(write(tmp_path, user, {"certificate-authority-data": encoded(PEM)}))
    assert list(temporary.iterdir()) == []


def refused(cluster: Obj) -> tuple[Obj, Obj]:
    return {"token": SECRET}, cluster


WRONG: dict[str, tuple[Obj | None, Obj, str]] = {
    "no https": (*refused({"server": f"http://{SECRET}"}), '"c" has no server with an https address'),
    "no address": (*refused({"server": "https://[x"}), '"c" has no server with an https address'),
    "a number as the server": (*refused({"server": 5}), '"c" has a server that is not a string'),
    "no verification": (*refused({"insecure-skip-tls-verify": True}), "name its certificate-authority instead"),
    "an odd proxy": (*refused({"proxy-url": f"socks5://{SECRET}"}), "has a proxy-url that cannot be used; name http"),
    "an authority that is not there": (*refused({"certificate-authority": "no"}), "no, which does not exist"),
    "an authority that is not base64": (*refused({"certificate-authority-data": SECRET}), "is not base64"),
    "a user without anything": ({}, {}, f'"u" {NO_CREDENTIALS}; log in first'),
    "a user that is null": (None, {}, '"u" has no token'),
    "a password": ({"username": "a", "password": SECRET}, {}, "has a password, which API servers no longer accept"),
    "impersonation": ({"token": SECRET, "as": "root"}, {}, "impersonates another user, which is not supported"),
    "a certificate without its key": ({"client-certificate-data": encoded(PEM)}, {}, "needs both client-certificate"),
    "a token file that is not there": ({"tokenFile": "no"}, {}, "names the tokenFile no, which does not exist"),
    "a token with a line break": ({"token": f"{SECRET}\nx"}, {}, UNSENDABLE),
    "an old auth provider": (oidc("x", "gcp"), {}, "uses an auth-provider that Kubernetes no longer supports"),
    "no id-token": (oidc(""), {}, "has no OIDC id-token; log in again, or use an exec plugin"),
    "an id-token that has expired": (oidc(id_token(1_000)), {}, "has expired; run kubectl once with this context"),
    "an exec that is a list": ({"exec": [SECRET]}, {}, "has an exec that is not a mapping"),
    "an exec without a command": ({"exec": {"apiVersion": SECRET}}, {}, "exec plugin that cannot be used"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_cannot_be_used_is_one_line_that_names_the_file_and_no_secret(tmp_path: Path, name: str) -> None:
    user, cluster, want = WRONG[name]
    path = write(tmp_path, user, cluster)
    with pytest.raises(OperatorKubeconfigError) as caught:
        await load(path)
    said = str(caught.value)
    assert said.startswith(f"kubeconfig {path}: ")
    assert want in said, said
    assert SECRET not in said
    assert len(said.splitlines()) == 1


ODD: dict[str, Obj] = {
    "contexts in a mapping": {"contexts": {"one": {"cluster": SECRET}}},
    "a cluster without a name": {"clusters": [{"cluster": {"server": SECRET}}]},
    "users that are texts": {"users": [SECRET]},
    "a context that is a string": {"contexts": [{"name": "one", "context": SECRET}]},
}


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_document_is_one_line_without_its_content(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, {"token": SECRET}, **ODD[name])
    with pytest.raises(OperatorKubeconfigError) as caught:
        await load(path)
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_cluster_that_no_file_describes_is_named_with_the_remedy(tmp_path: Path) -> None:
    path = write(tmp_path, {"token": SECRET}, clusters=[])
    with pytest.raises(OperatorKubeconfigError) as caught:
        await load(path)
    assert str(caught.value) == (
        f'kubeconfig {path}: "one" names the cluster "c", which is not in {path}; '
        "add the file that describes it to $KUBECONFIG"
    )


FAILING = {
    "fails": (f"echo {SECRET} >&2; exit 3", 'exec plugin "{0}/plugin" ended with exit code 3'),
    "prints nothing": ("", NOT_JSON),
    "prints something else": (f"echo {SECRET}", NOT_JSON),
}


@pytest.mark.parametrize("name", FAILING)
async def test_an_exec_plugin_that_fails_is_one_line_with_the_remedy(tmp_path: Path, name: str) -> None:
    script, want = FAILING[name]
    path = write(tmp_path, plugin(tmp_path, script))
    with pytest.raises(OperatorKubeconfigError) as caught:
        await load(path)
    said = str(caught.value)
    assert said.startswith(f'kubeconfig {path}: "u" cannot authenticate: ')
    assert want.format(tmp_path) in said
    assert said.endswith("; run the command by hand to see why")
    assert SECRET not in said


async def test_an_exec_plugin_that_hangs_is_ended_after_30_seconds(tmp_path: Path) -> None:
    clock = VirtualClock()
    pid = tmp_path / "pid"
    path = write(tmp_path, plugin(tmp_path, f"echo $$ >{pid}.new; mv {pid}.new {pid}\nexec sleep 600"))
    loading = asyncio.create_task(load_operator_access([path], "one", clock, {"PATH": os.environ["PATH"]}))
    while not pid.exists():  # noqa: ASYNC110 - another process writes it
        await asyncio.sleep(0.01)
    await clock.advance(29)
    assert not loading.done()
    await clock.advance(1)
    with pytest.raises(OperatorKubeconfigError, match='plugin" did not end within 30 s; run the command by hand'):
        await loading
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
