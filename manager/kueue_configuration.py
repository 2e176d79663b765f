"""How a worker's Kueue is configured, as forecasts assume it."""

from dataclasses import replace
from pathlib import Path

import yaml

from engine.configuration import KueueConfiguration
from engine.features import FeatureGates


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
        raw = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise KueueConfigurationError(f"{path}: {error.strerror or error}") from error
    except yaml.YAMLError as error:
        raise KueueConfigurationError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict) or raw.get("kind") != "Configuration":
        raise KueueConfigurationError(f"{path}: expected a Kueue Configuration, with kind: Configuration")
    try:
        return KueueConfiguration.from_raw(raw, FeatureGates.from_mapping(raw.get("featureGates") or {}))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise KueueConfigurationError(f"{path}: {error}") from error
