"""Why a kubeconfig is not used, in the terms of MultiKueueCluster's Active condition."""

from collections.abc import Iterable
from enum import StrEnum


class KubeconfigReason(StrEnum):
    """The reasons that Kueue writes to the condition `Active` of a MultiKueueCluster."""

    BAD = "BadKubeConfig"
    """It could not be fetched: no such Secret, key or file, or a path that is not allowed."""
    INSECURE = "InsecureKubeConfig"
    """It was fetched, and its content is not readable or not allowed."""
    BAD_PROFILE = "BadClusterProfile"
    """The ClusterProfile does not exist, or no configured command can log in to its cluster."""
    BAD_REST = "BadRestConfig"
    """The ClusterProfile describes its cluster in a way that is not allowed."""
    PROFILES_OFF = "MultiKueueClusterProfileFeatureDisabled"
    """ClusterProfiles are not switched on."""


class KubeconfigError(ValueError):
    """A kubeconfig that is not used. The message never quotes its content."""

    def __init__(self, reason: KubeconfigReason, problems: str | Iterable[str]) -> None:
        self.reason = reason
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("; ".join(self.problems))

    @property
    def condition_message(self) -> str:
        """The message of the condition, worded as Kueue words it."""
        return f"load client config failed: {self}"
