"""How a worker's Kueue is configured, as forecasts assume it."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from config.reading.files import UnreadableFileError, read_bounded
from config.reading.yaml_document import NotYamlError, read_yaml
from engine.objects.configuration import KueueConfiguration
from engine.versions.profiles import REFERENCE_PROFILE, VersionProfile, profile_of
from gates.detection.detected import DetectedKueue
from gates.detection.gate_switch import FEATURE_GATE

_MAX_SIZE: Final = 1 << 20
_MAX_VALUES: Final = 10_000


class KueueConfigurationError(ValueError):
    """A file that is not a Kueue Configuration; the message names it and what is wrong."""


def load_kueue_configuration(path: Path | None, profile: VersionProfile = REFERENCE_PROFILE) -> KueueConfiguration:
    """Read the Configuration of a worker whose Kueue has this profile; without a file, its version's defaults.

    Orchestrated preemption counts as switched on: a worker on which it is off asks for no gate, and is not forecast.
    """
    known = KueueConfiguration.from_raw({}, profile=profile) if path is None else _read(path, profile)
    return replace(known, gates=replace(known.gates, multi_kueue_orchestrated_preemption=True))


def detected_configuration(found: DetectedKueue, given: KueueConfiguration | None) -> KueueConfiguration | None:
    """Return how a Kueue is configured whose exact version was detected; None where it is not known.

    `given` is what the operator's file says, which counts before what the cluster's own ConfigMap does. Raises
    `KueueConfigurationError`.
    """
    version = found.version
    if version is None or version.patch is None:
        return None
    settings, profile = found.settings, profile_of(version)
    raw = given.raw if given is not None and given.raw else (settings.configuration or {})
    arguments = settings.deployment.gates if settings.deployment is not None else {}
    try:
        known = KueueConfiguration.from_raw(raw, arguments or None, profile)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise KueueConfigurationError(str(error)) from error
    return replace(known, gates=replace(known.gates, multi_kueue_orchestrated_preemption=True))


def version_given(configuration: KueueConfiguration | None) -> str:
    """Return the version that the operator names, nothing if none is."""
    return str(configuration.profile) if configuration is not None and configuration.profile.is_named else ""


def switches_gates(configuration: KueueConfiguration | None) -> bool | None:
    """Return whether a Configuration switches preemption gates on or off; None if it does not say.

    Where it does not, an argument of Kueue's Deployment may still do so, or the default of its version.
    """
    if configuration is None:
        return None
    said = (configuration.raw.get("featureGates") or {}).get(FEATURE_GATE)
    return said if isinstance(said, bool) else None


def _read(path: Path, profile: VersionProfile) -> KueueConfiguration:
    try:
        document = read_yaml(read_bounded(path, _MAX_SIZE), _MAX_VALUES)
    except UnreadableFileError as error:
        raise KueueConfigurationError(f"{path}: {error}") from error
    except NotYamlError as error:
        raise KueueConfigurationError(f"{path}: line {error.problem.line} {error}") from error
    for problem in document.problems:
        raise KueueConfigurationError(f"{path}: line {problem.line} {problem.message}")
    raw = document.tree
    if not isinstance(raw, dict) or raw.get("kind") != "Configuration":
        raise KueueConfigurationError(f"{path}: expected a Kueue Configuration, with kind: Configuration")
    try:
        return KueueConfiguration.from_raw(raw, profile=profile)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise KueueConfigurationError(f"{path}: {error}") from error
