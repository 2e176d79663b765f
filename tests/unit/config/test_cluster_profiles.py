"""From a ClusterProfile to an access, or to the reason why not."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from config.kubeconfig.errors import KubeconfigError
from config.kubeconfig.parsing import not_pem
from config.kubeconfig.profiles import access_from_profile
from config.sections.cluster_profiles import AccessProvider
from config.sections.sections import KubeconfigPolicy

PEM = b"-----BEGIN CERTIFICATE-----\n"
HERE = {"server": "https://worker:6443/", "certificate-authority-data": b64encode(PEM).decode()}
OURS = (AccessProvider(name="second", command=Path("/bin/two")), AccessProvider(name="first", command=Path("/bin/one")))


def profile(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "status": status}


def offered(name: str, **cluster: Any) -> dict[str, Any]:
    return {"name": name, "cluster": {**HERE, **cluster}}


def test_the_first_of_our_providers_that_the_profile_knows_is_used() -> None:
    found = access_from_profile(
        profile(accessProviders=[offered("first"), offered("other"), offered("second")]), OURS, KubeconfigPolicy()
    )
    assert (found.server, found.ca) == ("https://worker:6443", PEM)
    assert found.exec_plugin is not None
    assert found.exec_plugin.command == "/bin/two"


def test_the_deprecated_list_counts_unless_the_new_one_has_the_same_name() -> None:
    old, new = offered("first", server="https://old"), offered("first", server="https://new")
    assert access_from_profile(profile(credentialProviders=[old]), OURS, KubeconfigPolicy()).server == "https://old"
    both = profile(credentialProviders=[old], accessProviders=[new])
    assert access_from_profile(both, OURS, KubeconfigPolicy()).server == "https://new"


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no status at all": ({}, "BadClusterProfile", "no access provider configured"),
    "a status that is no mapping": ({"status": {"accessProviders": "x"}}, "BadClusterProfile", "must be a list"),
    "a status that is a string": ({"status": "x"}, "BadClusterProfile", "status must be a mapping"),
    "no provider that is configured": (profile(accessProviders=[offered("gke")]), "BadClusterProfile", "offers: gke"),
    "no server": (profile(accessProviders=[offered("first", server="")]), "BadRestConfig", "server URL is required"),
    "http": (profile(accessProviders=[offered("first", server="http://w")]), "BadRestConfig", "must use https"),
    "a proxy": (profile(accessProviders=[offered("first", **{"proxy-url": "http://p"})]), "BadRestConfig", "proxy-url"),
    "a file": (
        profile(accessProviders=[offered("first", **{"certificate-authority": "/etc/ca"})]),
        "BadRestConfig",
        "certificate-authority file paths are not allowed",
    ),
    "odd base64": (
        profile(accessProviders=[offered("first", **{"certificate-authority-data": "%"})]),
        "BadRestConfig",
        "certificate-authority-data is not base64",
    ),
    "a CA that is no PEM": (
        profile(accessProviders=[offered("first", **{"certificate-authority-data": "eA=="})]),
        "BadRestConfig",
        not_pem("certificate-authority-data"),
    ),
}


@pytest.mark.parametrize(("raw", "reason", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_profile_that_cannot_be_used_says_why(raw: dict[str, Any], reason: str, words: str) -> None:
    policy = KubeconfigPolicy(allow_file_references=True)
    with pytest.raises(KubeconfigError) as caught:
        access_from_profile(raw, OURS, policy)
    assert caught.value.reason == reason
    assert words in caught.value.condition_message
