"""A real kube-apiserver that knows Kueue's kinds and ServiceMonitors, for everything under deploy/."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.servers import is_continuous_integration, why_no_real_server
from tests.deploy import go_modules, prometheus_crds
from tests.deploy.kubectl import Kubectl
from tests.realbed import apiserver, build, kueue_crds
from tests.realbed.apiserver import ApiServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests on the real server."""
    ours = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    for item in ours:
        if isinstance(item, pytest.Function) and "hub" in item.fixturenames:
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session")
def kubectl_program() -> str:
    found = shutil.which("kubectl")
    if found is None:
        if is_continuous_integration():
            pytest.fail("kubectl is not on PATH")
        pytest.skip("kubectl is not on PATH")
    return found


@pytest.fixture(scope="package")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return a server with the namespaces that the manifests are for; its admission is a hub's."""
    if reason := why_no_real_server():
        pytest.skip(f"no real kube-apiserver: {reason}")
    try:
        if is_continuous_integration():
            build.install_go()
        with apiserver.run(tmp_path_factory.mktemp("hub")) as server:
            kueue_crds.install(server)
            prometheus_crds.install(server)
            for name, labels in (("turnstile-system", _RESTRICTED), ("team", {}), ("other", {})):
                namespace = {"metadata": {"name": name, "labels": labels}}
                assert server.call("POST", "/api/v1/namespaces", namespace)[0] == 201
            yield server
            server.running.kill()  # a clean stop takes ten seconds, and nothing here is kept
    except build.ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no real kube-apiserver: {error}")


_RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}


@pytest.fixture(scope="package")
def kubectl(hub: ApiServer, kubectl_program: str, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectl_program, hub.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def helm_program() -> Path:
    return _tool("helm")


@pytest.fixture(scope="session")
def promtool() -> Path:
    return _tool("promtool", tags="remove_all_sd")  # what it would discover, no rule depends on


def _tool(name: str, tags: str = "") -> Path:
    """Return a tool that is built as a Go module; where that cannot be, say why."""
    if reason := why_no_real_server():
        pytest.skip(f"no {name}: {reason}")
    try:
        if is_continuous_integration():
            build.install_go()
        return go_modules.tool(Path(__file__).parent / name, name, tags)
    except build.ToolchainError as error:
        if is_continuous_integration():
            raise
        pytest.skip(f"no {name}: {error}")
