"""Kubeconfigs are fetched only from where the operator allowed it."""

import os
from pathlib import Path

import pytest

from config.kubeconfig.access import ClientCertificate
from config.kubeconfig.confinement import NOT_ALLOWED, confine
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.parser import KubeconfigParser
from config.kubeconfig.sources import (
    MAX_KUBECONFIG_SIZE,
    load_hub_kubeconfig,
    load_secret_kubeconfig,
    load_worker_kubeconfig,
)
from config.sections.sections import KubeconfigPolicy
from tests.unit.config.kubeconfigs import KEY_PEM, PEM, TOKEN, encoded, kubeconfig


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    directory = tmp_path / "allowed"
    directory.mkdir()
    (directory / "good").write_bytes(kubeconfig())
    (tmp_path / "allowed-other").mkdir()
    (tmp_path / "allowed-other" / "w").write_bytes(kubeconfig())
    (tmp_path / "outside").write_bytes(kubeconfig())
    return directory


def policy(*directories: Path, files: bool = False) -> KubeconfigPolicy:
    return KubeconfigPolicy(allowed_directories=directories, allow_file_references=files)


def test_a_file_inside_is_loaded(allowed: Path) -> None:
    assert load_worker_kubeconfig(allowed / "good", policy(allowed)).token == TOKEN


def test_links_on_both_sides_are_resolved(allowed: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(allowed)
    (allowed / "inner").symlink_to("good")
    for path in (tmp_path / "link" / "good", allowed / "inner"):
        assert load_worker_kubeconfig(path, policy(tmp_path / "link")).token == TOKEN


def test_the_layout_of_a_secret_volume_works(allowed: Path) -> None:
    (allowed / "..2024").mkdir()
    (allowed / "..2024" / "kubeconfig").write_bytes(kubeconfig())
    (allowed / "..data").symlink_to("..2024")
    (allowed / "kubeconfig").symlink_to("..data/kubeconfig")
    assert load_worker_kubeconfig(allowed / "kubeconfig", policy(allowed)).token == TOKEN


def refusal(path: str | Path, *directories: Path) -> str:
    with pytest.raises(KubeconfigError) as caught:
        confine(path, directories)
    assert caught.value.reason is KubeconfigReason.BAD
    return str(caught.value)


def test_refused_paths(allowed: Path, tmp_path: Path) -> None:
    (allowed / "escape").symlink_to(tmp_path / "outside")
    (allowed / "loop").symlink_to("loop")
    assert refusal("", allowed) == "kubeconfig path must not be empty"
    assert refusal("good", allowed) == f"{NOT_ALLOWED}: path must be absolute"
    assert refusal(f"{allowed}/../outside", allowed) == f'{NOT_ALLOWED}: path contains ".."'
    assert refusal(f"{allowed}/a\0b", allowed) == f"{NOT_ALLOWED}: path contains a zero byte"
    assert refusal(allowed / "escape", allowed) == f'{NOT_ALLOWED}: "{tmp_path}/outside" is not under "{allowed}"'
    assert refusal(tmp_path / "allowed-other" / "w", allowed).startswith(NOT_ALLOWED)
    assert refusal(allowed, allowed).startswith(NOT_ALLOWED)
    assert refusal(allowed / "none", allowed).startswith("cannot resolve kubeconfig path symlinks: ")
    assert refusal(allowed / "loop", allowed).startswith("cannot resolve kubeconfig path symlinks: ")
    assert refusal(allowed / "good", tmp_path / "missing") == (
        f'{NOT_ALLOWED}: "{allowed}/good" is not under "{tmp_path}/missing"'
    )
    assert refusal(allowed / "good").endswith("is not under any directory: none is allowed")


def test_any_of_several_directories_will_do(allowed: Path, tmp_path: Path) -> None:
    assert confine(allowed / "good", (tmp_path / "missing", allowed)) == allowed / "good"


def test_files_that_cannot_be_read(allowed: Path) -> None:
    (allowed / "huge").write_bytes(b"#" * (MAX_KUBECONFIG_SIZE + 1))
    (allowed / "folder").mkdir()
    os.mkfifo(allowed / "pipe")
    for name, want in [("huge", "is larger than"), ("folder", "is a directory"), ("pipe", "is not a regular file")]:
        with pytest.raises(KubeconfigError, match=want) as caught:
            load_worker_kubeconfig(allowed / name, policy(allowed))
        assert caught.value.reason is KubeconfigReason.BAD


def test_the_hubs_kubeconfig_may_lie_anywhere(tmp_path: Path, allowed: Path) -> None:
    assert load_hub_kubeconfig(tmp_path / "outside", policy(allowed)).token == TOKEN
    with pytest.raises(KubeconfigError, match="does not exist"):
        load_hub_kubeconfig(tmp_path / "none", policy(allowed))


def test_the_hubs_kubeconfig_is_held_to_the_policy_too(tmp_path: Path) -> None:
    (tmp_path / "hub").write_bytes(kubeconfig(cluster={"server": "http://hub"}))
    with pytest.raises(KubeconfigError, match="must use https"):
        load_hub_kubeconfig(tmp_path / "hub", policy())


def test_secrets() -> None:
    data = {"kubeconfig": encoded(kubeconfig()), "broken": "!", "huge": encoded(b"#" * (MAX_KUBECONFIG_SIZE + 1))}
    assert load_secret_kubeconfig("s", data, "kubeconfig", policy()).token == TOKEN
    for key, want in [
        ("other", 'key "other" not found in secret "s"'),
        ("broken", 'key "broken" of secret "s" is not base64'),
        ("huge", 'key "huge" of secret "s" has 131073 bytes: must be at most 131072'),
    ]:
        with pytest.raises(KubeconfigError) as caught:
            load_secret_kubeconfig("s", data, key, policy())
        assert (str(caught.value), caught.value.reason) == (want, KubeconfigReason.BAD)


def test_S4_a_kubeconfig_is_parsed_once_per_content_and_so_is_one_that_is_refused(allowed: Path) -> None:
    parser = KubeconfigParser()
    for _ in range(3):
        assert load_worker_kubeconfig(allowed / "good", policy(allowed), None, parser).token == TOKEN
    assert parser.parsed == 1
    data = {"kubeconfig": encoded(kubeconfig(cluster={"server": "http://insecure"}))}
    for _ in range(3):
        with pytest.raises(KubeconfigError, match="must use https"):
            load_secret_kubeconfig("s", data, "kubeconfig", policy(), None, parser)
    assert parser.parsed == 2
    data["kubeconfig"] = encoded(kubeconfig())
    assert load_secret_kubeconfig("s", data, "kubeconfig", policy(), None, parser).token == TOKEN
    with pytest.raises(KubeconfigError, match="does not exist"):
        load_secret_kubeconfig("s", data, "kubeconfig", policy(), "another context", parser)
    assert parser.parsed == 4


def test_S4_a_change_that_keeps_size_and_time_of_the_file_is_seen(allowed: Path) -> None:
    parser, file = KubeconfigParser(), allowed / "good"
    before = file.stat()
    assert load_worker_kubeconfig(file, policy(allowed), None, parser).token == TOKEN
    file.write_bytes(file.read_bytes().replace(TOKEN.encode(), TOKEN[::-1].encode()))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert load_worker_kubeconfig(file, policy(allowed), None, parser).token == TOKEN[::-1]


def test_S4_files_that_a_remembered_kubeconfig_names_are_read_again(allowed: Path) -> None:
    parser = KubeconfigParser()
    (allowed / "ca").write_bytes(PEM)
    no_data = {"certificate-authority-data": None, "certificate-authority": "ca"}
    (allowed / "w").write_bytes(kubeconfig(cluster=no_data))
    assert load_worker_kubeconfig(allowed / "w", policy(allowed, files=True), None, parser).ca == PEM
    (allowed / "ca").write_bytes(PEM + PEM)
    assert load_worker_kubeconfig(allowed / "w", policy(allowed, files=True), None, parser).ca == PEM + PEM
    assert parser.parsed == 1


def test_S4_a_stricter_policy_is_applied_to_a_remembered_kubeconfig(allowed: Path) -> None:
    parser = KubeconfigParser()
    (allowed / "w").write_bytes(kubeconfig(user={"tokenFile": "ca"}))
    (allowed / "ca").write_bytes(b"x")
    assert load_worker_kubeconfig(allowed / "w", policy(allowed, files=True), None, parser).token_file
    with pytest.raises(KubeconfigError):
        load_worker_kubeconfig(allowed / "w", policy(allowed), None, parser)


def test_S4_a_kubeconfig_with_too_many_values_is_refused(allowed: Path) -> None:
    (allowed / "w").write_bytes(b"a: [" + b"1," * 20_000 + b"1]\n")
    with pytest.raises(KubeconfigError, match="line 1 holds more than 10000 values"):
        load_worker_kubeconfig(allowed / "w", policy(allowed))


def test_referenced_files_are_read_and_token_files_stay_paths(allowed: Path) -> None:
    (allowed / "ca").write_bytes(PEM)
    (allowed / "key").write_bytes(KEY_PEM)
    no_data = {"certificate-authority-data": None, "certificate-authority": "ca"}
    (allowed / "w").write_bytes(kubeconfig(cluster=no_data, user={"client-certificate": "ca", "client-key": "key"}))
    access = load_worker_kubeconfig(allowed / "w", policy(allowed, files=True))
    assert (access.ca, access.client_certificate) == (PEM, ClientCertificate(PEM, KEY_PEM))
    (allowed / "w").write_bytes(kubeconfig(user={"tokenFile": "ca"}))
    assert load_worker_kubeconfig(allowed / "w", policy(allowed, files=True)).token_file == allowed / "ca"


def test_a_kubeconfig_cannot_reach_files_outside_even_when_references_are_allowed(
    allowed: Path, tmp_path: Path
) -> None:
    for user in ({"tokenFile": str(tmp_path / "outside")}, {"tokenFile": "../outside"}):
        (allowed / "w").write_bytes(kubeconfig(user=user))
        with pytest.raises(KubeconfigError, match=NOT_ALLOWED):
            load_worker_kubeconfig(allowed / "w", policy(allowed, files=True))
