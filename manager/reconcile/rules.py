"""What decisions depend on beside the state of the clusters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from config.api.identifiers import WorkerName
from config.sections.settings import Configuration
from gates.model.marks import HubIdentity
from gates.model.settings import Settings, UngatedPolicy
from manager.base.from_configuration import policies_of, settings_of


@dataclass(slots=True)
class Rules:
    """The rules in force; settings and policies change with the configuration, so that no part keeps a copy."""

    identity: HubIdentity
    settings: Settings
    policies: Mapping[WorkerName, UngatedPolicy]
    read_settings: Callable[[Configuration], Settings] = settings_of

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        identity: HubIdentity,
        read_settings: Callable[[Configuration], Settings] = settings_of,
    ) -> Self:
        """Return the rules of a configuration."""
        return cls(identity, read_settings(configuration), policies_of(configuration), read_settings)

    def reconfigure(self, configuration: Configuration) -> None:
        """Decide by another configuration from now on."""
        self.settings = self.read_settings(configuration)
        self.policies = policies_of(configuration)
