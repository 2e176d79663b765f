"""Which hub and which namespace: as kubectl chooses them."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.hub import find_kubeconfig, hub_access, namespace_of, warn_missing
from manager.cli.conventions.options import HubOptions, NamespaceOption, NamespaceScope
from manager.cli.conventions.subjects import CommandSubject, subject_of


def kubeconfig(path: Path, current: str = "one", **namespaces: str | None) -> Path:
    """Write a kubeconfig with one context for each namespace."""
    contexts = [
        {"name": name, "context": {"cluster": path.name, "user": "u"} | ({"namespace": namespace} if namespace else {})}
        for name, namespace in namespaces.items()
    ]
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [{"name": path.name, "cluster": {"server": f"https://{path.name}.example:6443"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": contexts,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document))
    return path


def test_the_file_that_is_named_wins_over_the_environment(tmp_path: Path) -> None:
    named = kubeconfig(tmp_path / "named", one="team-a")
    other = kubeconfig(tmp_path / "other", one="team-b")
    found = find_kubeconfig(HubOptions(named), {"KUBECONFIG": str(other)})
    assert (found.path, found.namespace) == (named, "team-a")


def test_without_a_name_it_is_the_users_own(tmp_path: Path) -> None:
    own = kubeconfig(tmp_path / ".kube" / "config", one=None)
    found = find_kubeconfig(HubOptions(), {"HOME": str(tmp_path)})
    assert (found.path, found.namespace) == (own, "default")


def test_of_several_files_the_one_with_the_context_is_used(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path / "first", one="a")
    second = kubeconfig(tmp_path / "second", current="", two="b")
    environment = {"KUBECONFIG": os.pathsep.join([str(tmp_path / "missing"), str(first), str(second)])}
    assert find_kubeconfig(HubOptions(), environment).path == first
    assert find_kubeconfig(HubOptions(context="two"), environment).path == second
    access = hub_access(HubOptions(context="two"), environment)
    assert access.server == "https://second.example:6443"


def test_a_context_may_name_a_cluster_and_a_user_of_other_files(tmp_path: Path) -> None:
    """As kubectl merges them; relative paths start at the file that names them."""
    (tmp_path / "users").mkdir()
    (tmp_path / "users" / "token").write_text("from-the-file\n")
    parts = {
        tmp_path / "contexts": {
            "current-context": "one",
            "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "team-a"}}],
        },
        tmp_path / "clusters": {
            "current-context": "another",
            "clusters": [{"name": "c", "cluster": {"server": "https://c.example:6443"}}],
        },
        tmp_path / "users" / "config": {"users": [{"name": "u", "user": {"tokenFile": "token"}}]},
    }
    for path, document in parts.items():
        path.write_text(yaml.safe_dump(document))
    access = hub_access(HubOptions(), {"KUBECONFIG": os.pathsep.join(map(str, parts))})
    assert (access.server, access.namespace, access.token) == ("https://c.example:6443", "team-a", "from-the-file")


def test_of_entries_with_the_same_name_the_first_counts(tmp_path: Path) -> None:
    first, second = kubeconfig(tmp_path / "a" / "k", one="a"), kubeconfig(tmp_path / "b" / "k", current="", two="b")
    second.write_text(second.read_text().replace("k.example", "other.example"))
    environment = {"KUBECONFIG": os.pathsep.join([str(first), str(second)])}
    assert hub_access(HubOptions(context="two"), environment).server == "https://k.example:6443"


def test_files_of_the_list_that_are_not_there_are_ignored_with_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = kubeconfig(tmp_path / "there", one="a")
    gone = [tmp_path / "gone", there / "below-a-file"]
    found = find_kubeconfig(HubOptions(), {"KUBECONFIG": os.pathsep.join(map(str, [gone[0], there, gone[1]]))})
    assert (found.path, found.missing) == (there, tuple(gone))
    warn_missing(found)
    assert capsys.readouterr().err == (
        f"warning: $KUBECONFIG lists files that do not exist and are ignored: {gone[0]}, {gone[1]}; "
        "create them, or remove them from the variable\n"
    )
    warn_missing(find_kubeconfig(HubOptions(), {"KUBECONFIG": str(there)}))
    assert capsys.readouterr().err == ""


def test_a_list_of_which_no_file_is_there_names_them_all(tmp_path: Path) -> None:
    environment = {"KUBECONFIG": os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])}
    with pytest.raises(BadInputError) as caught:
        hub_access(HubOptions(), environment)
    assert str(caught.value) == (
        f"there is no kubeconfig ({tmp_path / 'a'}, {tmp_path / 'b'}); name the hub's with --kubeconfig"
    )


def test_in_a_pod_without_a_kubeconfig_the_service_account_counts(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("authority")
    pod = {"HOME": "/none", "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    access = hub_access(HubOptions(), pod, tmp_path)
    assert (access.server, access.ca, access.token_file) == ("https://10.0.0.1:443", b"authority", tmp_path / "token")
    with pytest.raises(
        BadInputError, match=r"there is no kubeconfig, and the pod has no service account: .*; name the"
    ):
        hub_access(HubOptions(), pod, tmp_path / "none")
    for options, more in ((HubOptions(context="x"), {}), (HubOptions(), {"KUBECONFIG": "/none/k"})):
        with pytest.raises(BadInputError, match="there is no kubeconfig"):
            hub_access(options, pod | more, tmp_path)


BAD = {
    "a file that is not there": (lambda _: None, HubOptions(Path("none")), "kubeconfig none does not exist"),
    "no YAML": (lambda p: p.write_text("a: ["), HubOptions(), "is not YAML"),
    "a list": (lambda p: p.write_text("[]"), HubOptions(), "is not a kubeconfig: it must be a mapping"),
    "no current context": (lambda p: kubeconfig(p, "", one="a"), HubOptions(), "no current-context; name one with"),
    "an unknown context": (lambda p: kubeconfig(p, one="a"), HubOptions(context="x"), 'there is no context "x" in'),
    "nothing at all": (lambda _: None, HubOptions(), "there is no kubeconfig (", "name the hub's with --kubeconfig"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_what_cannot_be_used_is_one_sentence(tmp_path: Path, case: tuple[Any, ...]) -> None:
    make, options, *wants = case
    make(tmp_path / "k")
    with pytest.raises(BadInputError) as caught:
        hub_access(options, {"KUBECONFIG": str(tmp_path / "k")})
    assert all(want in str(caught.value) for want in wants), str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_the_namespace_is_that_of_the_context_unless_chosen(tmp_path: Path) -> None:
    environment = {"KUBECONFIG": str(kubeconfig(tmp_path / "k", one="team-a", two=None))}
    assert namespace_of(NamespaceScope(), HubOptions(), environment) == "team-a"
    assert namespace_of(NamespaceScope(), HubOptions(context="two"), environment) == "default"
    assert namespace_of(NamespaceScope("mine"), HubOptions(), environment) == "mine"
    assert namespace_of(NamespaceScope(all_namespaces=True), HubOptions(), environment) is None
    assert namespace_of(NamespaceScope(), HubOptions(), {"HOME": str(tmp_path)}) is None


def test_both_namespace_options_exclude_each_other() -> None:
    with pytest.raises(BadInputError, match="exclude each other"):
        namespace_of(NamespaceScope("a", all_namespaces=True), HubOptions(), {})


@pytest.mark.parametrize("name", ["", "Team", "a/b", "x" * 64, "a b"])
def test_a_namespace_is_checked(name: str) -> None:
    with pytest.raises(BadInputError, match="is not allowed: must be lower case"):
        namespace_of(NamespaceScope(name), HubOptions(), {})


@pytest.mark.parametrize(
    ("text", "namespace", "want"),
    [
        ("team/wl", None, CommandSubject("Workload", "team", "wl")),
        ("wl", "team", CommandSubject("Workload", "team", "wl")),
        ("team/wl", "team", CommandSubject("Workload", "team", "wl")),
        ("job/train", "team", CommandSubject("Job", "team", "train")),
        ("jobs.batch/train", "team", CommandSubject("Job", "team", "train")),
        ("JobSet/train", "team", CommandSubject("JobSet", "team", "train")),
        ("wl/x", "team", CommandSubject("Workload", "team", "x")),
        ("workloads.kueue.x-k8s.io/x", "team", CommandSubject("Workload", "team", "x")),
        ("job/team/train", None, CommandSubject("Job", "team", "train")),
    ],
)
def test_a_subject_is_named_in_many_ways(text: str, namespace: str | None, want: CommandSubject) -> None:
    assert subject_of(text, NamespaceOption(namespace), HubOptions()) == want


@pytest.mark.parametrize(
    ("text", "namespace", "want"),
    [
        ("", "team", "must be NAMESPACE/NAME, NAME with -n, workload/NAME or job/NAME"),
        ("team/", None, "must be NAMESPACE/NAME"),
        ("/wl", None, "must be NAMESPACE/NAME"),
        ("a/b/c", None, "must be NAMESPACE/NAME"),
        ("job/a/b/c", None, "must be NAMESPACE/NAME"),
        ("a/wl", "b", '"a/wl" names the namespace a, and -n b another; give one'),
    ],
)
def test_a_subject_that_is_malformed_is_one_sentence(text: str, namespace: str | None, want: str) -> None:
    with pytest.raises(BadInputError) as caught:
        subject_of(text, NamespaceOption(namespace), HubOptions())
    assert want in str(caught.value)
