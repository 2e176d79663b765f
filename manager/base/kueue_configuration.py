"""How a worker's Kueue is configured, as forecasts assume it."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from config.reading.files import UnreadableFileError, read_bounded
from config.reading.yaml_document import NotYamlError, read_yaml
from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates

_MAX_SIZE: Final = 1 << 20
_MAX_VALUES: Final = 10_000


class KueueConfigurationError(ValueError):
    """A file that is not a Kueue Configuration; the message names it and what is wrong."""


def load_kueue_configuration(path: Path | None) -> KueueConfiguration:
    """Read a worker's Configuration; without a file, Kueue's defaults.

    Orchestrated preemption counts as switched on: a worker on which it is off asks for no gate, and is not forecast.
    """
    known = KueueConfiguration() if path is None else _read(path)
    return replace(known, gates=replace(known.gates, multi_kueue_orchestrated_preemption=True))


def _read(path: Path) -> KueueConfiguration:
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
        return KueueConfiguration.from_raw(raw, FeatureGates.from_mapping(raw.get("featureGates") or {}))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise KueueConfigurationError(f"{path}: {error}") from error
