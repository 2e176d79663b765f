"""A kubeconfig is used only when the policy allows all of it, and no message quotes it."""

import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.kubeconfig.access import ClientCertificate, ClusterAccess, ExecPlugin
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.parsing import parse_kubeconfig
from config.sections.sections import KubeconfigPolicy
from config.types.syntax import UNSENDABLE
from tests.unit.config.kubeconfigs import EXEC, GOOD, KEY, KEY_PEM, PEM, TOKEN, encoded, kubeconfig

STRICT = KubeconfigPolicy()
LAX = KubeconfigPolicy(allow_exec_plugins=True, allow_file_references=True)
CERTIFICATE = {"client-certificate-data": encoded(PEM), "client-key-data": encoded(KEY_PEM)}


def test_a_good_kubeconfig() -> None:
    assert parse_kubeconfig(kubeconfig(), STRICT) == ClusterAccess(
        server="https://worker.example:6443", ca=PEM, namespace="batch", token=TOKEN
    )


def test_client_certificate() -> None:
    access = parse_kubeconfig(kubeconfig(user=CERTIFICATE), STRICT)
    assert access.client_certificate == ClientCertificate(PEM, KEY_PEM)
    assert access.token is None


def test_another_context_can_be_chosen() -> None:
    other = [{"name": "y", "context": {"cluster": "c", "user": "u", "namespace": "other"}}]
    raw = kubeconfig(root={"contexts": GOOD["contexts"] + other})
    assert parse_kubeconfig(raw, STRICT, context="y").namespace == "other"


# Worded as Kueue v0.19.1 words it.
UPSTREAM: dict[str, tuple[bytes, str]] = {
    "a token file": (kubeconfig(user={"tokenFile": "/t"}), "tokenFile is not allowed"),
    "a token file of another user": (
        kubeconfig(root={"users": [*GOOD["users"], {"name": "v", "user": {"tokenFile": "/t"}}]}),
        "tokenFile is not allowed",
    ),
    "insecure TLS": (
        kubeconfig(cluster={"insecure-skip-tls-verify": True}),
        "insecure TLS verification is not allowed for cluster c",
    ),
    "insecure TLS of another cluster": (
        kubeconfig(
            root={
                "clusters": [
                    *GOOD["clusters"],
                    {"name": "d", "cluster": {"server": "https://d", "insecure-skip-tls-verify": True}},
                ]
            }
        ),
        "insecure TLS verification is not allowed for cluster d",
    ),
    "a CA by path": (
        kubeconfig(cluster={"certificate-authority": "/ca"}),
        "certificate-authority file paths are not allowed, use certificate-authority-data for cluster c",
    ),
    "no server": (kubeconfig(cluster={"server": ""}), "server URL is required for cluster c"),
    "basic auth": (kubeconfig(user={"username": "me", "password": KEY}), "basic auth is not allowed"),
    "an exec plugin": (kubeconfig(user={"exec": EXEC}), "exec plugins are not allowed"),
    "an auth provider": (kubeconfig(user={"auth-provider": {"name": "gcp"}}), "auth providers are not allowed"),
    "a host that is no name": (kubeconfig(cluster={"server": "https://a_b:1"}), "untrusted server endpoint"),
    "a server that is no URL": (kubeconfig(cluster={"server": "https://[::1"}), "untrusted server endpoint"),
    "an invalid port": (kubeconfig(cluster={"server": "https://a:99999"}), "untrusted server endpoint"),
}

OURS: dict[str, tuple[bytes, str]] = {
    "http": (kubeconfig(cluster={"server": "http://a:1"}), "server URL must use https for cluster c"),
    "credentials in the URL": (kubeconfig(cluster={"server": f"https://me:{KEY}@a"}), "basic auth is not allowed"),
    "a query in the URL": (kubeconfig(cluster={"server": "https://a/?x=1"}), "untrusted server endpoint"),
    "a proxy": (
        kubeconfig(cluster={"proxy-url": f"http://me:{KEY}@proxy:3128"}),
        "proxy-url is not in kubeconfigPolicy.allowedProxies for cluster c",
    ),
    "impersonation": (kubeconfig(user={"token": TOKEN, "as": "admin"}), "impersonation is not allowed"),
    "a key by path": (
        kubeconfig(user={"client-certificate-data": encoded(PEM), "client-key": "/k"}),
        "client-certificate and client-key file paths are not allowed, "
        "use client-certificate-data and client-key-data for user u",
    ),
    "two ways to authenticate": (
        kubeconfig(user={"token": TOKEN, **CERTIFICATE}),
        "more than one authentication method found for user u: token, client certificate",
    ),
    "no way to authenticate": (
        kubeconfig(user={}),
        "user u has no token, no client certificate and no exec plugin",
    ),
    "a certificate without a key": (
        kubeconfig(user={"client-certificate-data": encoded(PEM)}),
        "user u has a client certificate without a client key",
    ),
    "a CA that is not PEM": (
        kubeconfig(cluster={"certificate-authority-data": encoded(KEY.encode())}),
        "certificate-authority-data is not PEM text",
    ),
    "a token with a line break": (
        kubeconfig(user={"token": f"{TOKEN}\r\nX-Evil: 1"}),
        f"the token of user u holds {UNSENDABLE}",
    ),
    "no current context": (
        kubeconfig(root={"current-context": ""}),
        "current-context is not set, and the configuration names no context",
    ),
    "a context that does not exist": (kubeconfig(root={"current-context": "z"}), 'context "z" does not exist'),
    "a context of a cluster that does not exist": (
        kubeconfig(root={"clusters": []}),
        'cluster "c" was not found for context "x"',
    ),
    "a context of a user that does not exist": (
        kubeconfig(root={"users": []}),
        'user "u" was not found for context "x"',
    ),
}

_UNREADABLE = "failed to parse kubeconfig(apiconfig): "
UNREADABLE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it is empty"),
    "a list": (b"- a", "it is not a mapping"),
    "broken YAML": (b"users:\n- {token: " + TOKEN.encode(), "line 2 is not YAML: "),
    "not UTF-8": (b"\xff", "line 1 is not UTF-8 text"),
    "a key twice": (b"users: []\nusers: []", "line 2 is given twice (first on line 1)"),
    "another kind": (kubeconfig(root={"kind": "Secret"}), "apiVersion must be v1 and kind must be Config"),
    "a token that is a number": (kubeconfig(user={"token": 12345}), "users[0].user.token must be a string"),
    "a switch that is a string": (
        kubeconfig(cluster={"insecure-skip-tls-verify": "yes"}),
        "clusters[0].cluster.insecure-skip-tls-verify must be true or false",
    ),
    "data that is not base64": (
        kubeconfig(cluster={"certificate-authority-data": f"{TOKEN}!"}),
        "clusters[0].cluster.certificate-authority-data is not base64",
    ),
    "two users of one name": (kubeconfig(root={"users": GOOD["users"] * 2}), 'users holds "u" twice'),
    "users that are no list": (kubeconfig(root={"users": {"u": 1}}), "users must be a list of mappings"),
}


@pytest.mark.parametrize("case", [*UPSTREAM, *OURS])
def test_refused(case: str) -> None:
    raw, want = (UPSTREAM | OURS)[case]
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(raw, STRICT)
    assert caught.value.problems == (want,)
    assert caught.value.reason is KubeconfigReason.INSECURE
    assert caught.value.condition_message == f"load client config failed: {want}"


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable(case: str) -> None:
    raw, want = UNREADABLE[case]
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(raw, STRICT)
    assert str(caught.value).startswith(_UNREADABLE + want)
    assert caught.value.reason is KubeconfigReason.INSECURE


@pytest.mark.parametrize("case", [*UPSTREAM, *OURS, *UNREADABLE])
def test_no_refusal_quotes_a_secret_not_even_in_a_traceback(case: str) -> None:
    raw, _ = (UPSTREAM | OURS | UNREADABLE)[case]
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(raw, STRICT)
    text = "".join(traceback.format_exception(caught.value))
    assert TOKEN not in text
    assert KEY not in text


def test_all_refusals_are_reported_together() -> None:
    raw = kubeconfig(
        cluster={"server": "http://a", "insecure-skip-tls-verify": True}, user={"tokenFile": "/t", "as": "root"}
    )
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(raw, STRICT)
    assert caught.value.problems == (
        "tokenFile is not allowed",
        "insecure TLS verification is not allowed for cluster c",
        "server URL must use https for cluster c",
        "impersonation is not allowed",
    )


@pytest.mark.parametrize(
    "server",
    [
        "https://10.0.0.1:6443",
        "https://[fd00::1]:6443",
        "https://K8S.Example.com",
        "https://rancher.example/k8s/clusters/c",
    ],
)
def test_servers_that_are_trusted(server: str) -> None:
    assert parse_kubeconfig(kubeconfig(cluster={"server": server}), STRICT).server == server


@pytest.mark.parametrize(
    "url", ["http://proxy.example:3128", "http://proxy.example:3128/", "HTTP://Proxy.Example:3128"]
)
def test_a_listed_proxy_is_allowed_however_it_is_spelled(url: str) -> None:
    policy = KubeconfigPolicy(allowed_proxies=("http://proxy.example:3128",))
    assert parse_kubeconfig(kubeconfig(cluster={"proxy-url": url}), policy).proxy_url == "http://proxy.example:3128"


def test_an_allowed_exec_plugin() -> None:
    cluster = {"extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}]}
    access = parse_kubeconfig(kubeconfig(cluster=cluster, user={"exec": EXEC}), LAX)
    assert access.exec_plugin == ExecPlugin(
        command="get-token",
        api_version="client.authentication.k8s.io/v1",
        args=("--secret", KEY),
        env=(("A", KEY),),
        provide_cluster_info=True,
        cluster_config={"audience": "a"},
    )


EXEC_MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no command": ({"command": ""}, "command is required"),
    "an old version": (
        {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
        "apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1",
    ),
    "it wants a terminal": (
        {"interactiveMode": "Always"},
        "interactiveMode is Always, and a daemon has no standard input to offer",
    ),
    "no mode in v1": ({"interactiveMode": None}, "interactiveMode must be Never or IfAvailable"),
    "arguments that are no texts": ({"args": [1]}, "args must be a list of strings"),
    "a variable without a name": ({"env": [{"value": KEY}]}, "env[0].name must be the name of an environment variable"),
}


@pytest.mark.parametrize("case", EXEC_MISTAKES)
def test_exec_plugins_that_cannot_run(case: str) -> None:
    change, want = EXEC_MISTAKES[case]
    with pytest.raises(KubeconfigError) as caught:
        parse_kubeconfig(kubeconfig(user={"exec": EXEC | change}), LAX)
    assert str(caught.value) == f"{_UNREADABLE}users[0].user.exec.{want}"


def test_v1beta1_plugins_may_leave_the_mode_out() -> None:
    plugin = EXEC | {"apiVersion": "client.authentication.k8s.io/v1beta1", "interactiveMode": None}
    access = parse_kubeconfig(kubeconfig(user={"exec": plugin}), LAX)
    assert access.exec_plugin is not None
    assert access.exec_plugin.api_version == plugin["apiVersion"]


def test_paths_in_the_file_start_where_the_file_lies() -> None:
    raw = kubeconfig(
        cluster={"certificate-authority-data": None, "certificate-authority": "ca"}, user={"tokenFile": "/t"}
    )
    access = parse_kubeconfig(raw, LAX, directory=Path("/etc/k"))
    assert (access.ca, access.token_file) == (Path("/etc/k/ca"), Path("/t"))
    with pytest.raises(KubeconfigError, match="file paths in a kubeconfig from a Secret must be absolute"):
        parse_kubeconfig(raw, LAX)


def test_no_repr_shows_a_secret() -> None:
    for user in ({"token": TOKEN}, CERTIFICATE, {"exec": EXEC}):
        access = parse_kubeconfig(kubeconfig(user=user), LAX)
        assert TOKEN not in repr(access)
        assert KEY not in repr(access)
        assert "https://worker.example:6443" in repr(access)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(["clusters", "users", "contexts", "current-context", "kind"]), JSON)
def test_any_shape_is_parsed_or_refused(key: str, value: object) -> None:
    try:
        parse_kubeconfig(kubeconfig(root={key: value}), STRICT)
    except KubeconfigError as error:
        assert error.problems  # noqa: PT017 - both outcomes are right; only another exception is not
