"""A token of a service account, as an operator requests it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token and when it ends, as the cluster says it (RFC 3339)."""

    token: str = field(repr=False)
    expires: str
