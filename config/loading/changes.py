"""What a running daemon takes over from a changed configuration, and what waits for its next start.

Everything waits unless it is listed here, so that a new setting is never half applied.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pydantic.alias_generators import to_camel

from config.sections.settings import Configuration

Field = tuple[str, ...]

LIVE: Final = frozenset(
    {
        ("hub", "kubeconfig"),
        ("hub", "context"),
        ("workers",),
        ("discovery", "enabled"),
        ("kubeconfig_policy", "allowed_directories"),
        ("kubeconfig_policy", "allow_exec_plugins"),
        ("kubeconfig_policy", "allow_file_references"),
        ("kubeconfig_policy", "allowed_proxies"),
        ("cluster_profiles", "access_providers"),
        ("gates", "single_cluster_preemption_timeout"),
        ("gates", "policy"),
        ("gates", "grace_period"),
        ("gates", "skip_futile"),
        ("gates", "non_preempting_grace"),
        ("gates", "hold_while_quota_reserved"),
        ("gates", "gate_single_target"),
        ("dispatcher", "mode"),
        ("dispatcher", "step_size"),
        ("dispatcher", "round_timeout"),
        ("dispatcher", "forecast_round_timeout"),
        ("dispatcher", "give_up_after"),
        ("dispatcher", "give_up_state"),
        ("forecast", "minimum_hit_rate"),
        ("forecast", "hit_rate_window"),
        ("jobs", "ownerless_workloads"),
        ("worker_lost_timeout",),
        ("gc_interval",),
        ("http", "certificate_file"),
        ("http", "key_file"),
        ("http", "token_file"),
        ("http", "audiences"),
        ("logging", "format"),
        ("logging", "level"),
    }
)
"""The fields that change while the daemon runs, in the model's names."""


@dataclass(frozen=True, slots=True)
class ConfigurationChange:
    """What a changed file means for a daemon that runs."""

    configuration: Configuration
    """What holds from now on: the new configuration, but for what waits."""
    applied: tuple[str, ...]
    """The fields that change now, in the file's names."""
    waiting: tuple[str, ...]
    """The fields that change with the next start."""


def change_between(running: Configuration, wanted: Configuration) -> ConfigurationChange:
    """Compare what runs with what the file says now."""
    applied, waiting = [], []
    effective = wanted
    for field in _differences(running, wanted):
        if field in LIVE:
            applied.append(_name(field))
        else:
            waiting.append(_name(field))
            effective = _with(effective, field, _value(running, field))
    return ConfigurationChange(effective, tuple(applied), tuple(waiting))


def fields_of_sections() -> Iterator[Field]:
    """Yield every field that is compared: those of sections one by one, lists and values as a whole."""
    for name, field in Configuration.model_fields.items():
        section = getattr(field.annotation, "model_fields", None)
        if section is None:
            yield (name,)
        else:
            yield from ((name, inner) for inner in section)


def _differences(running: Configuration, wanted: Configuration) -> Iterator[Field]:
    return (field for field in fields_of_sections() if _value(running, field) != _value(wanted, field))


def _value(configuration: Configuration, field: Field) -> Any:
    found: Any = configuration
    for part in field:
        found = getattr(found, part)
    return found


def _with(configuration: Configuration, field: Field, value: Any) -> Configuration:
    """Return the configuration with one field replaced; the value was validated before."""
    name, *inner = field
    section = getattr(configuration, name)
    changed = section.model_copy(update={inner[0]: value}) if inner else value
    return configuration.model_copy(update={name: changed})


def _name(field: Field) -> str:
    return ".".join(map(to_camel, field))
