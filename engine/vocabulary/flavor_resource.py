"""The pair that quota is counted in: a resource in a flavor."""

from typing import Final


class FlavorResource:
    """A resource in a flavor; one shared instance for each pair, so that equality is identity."""

    __slots__ = ("flavor", "resource")

    def __init__(self, flavor: str, resource: str) -> None:
        self.flavor: Final = flavor
        self.resource: Final = resource

    def __repr__(self) -> str:
        return f"{self.flavor}:{self.resource}"


class FlavorResourceTable:
    """Hands out the one instance of each flavor and resource."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], FlavorResource] = {}

    def get(self, flavor: str, resource: str) -> FlavorResource:
        """Return the shared instance of this pair."""
        pair = (flavor, resource)
        known = self._known.get(pair)
        if known is None:
            known = self._known[pair] = FlavorResource(flavor, resource)
        return known

    def copy(self) -> "FlavorResourceTable":
        """Return a table that hands out the same instances, and goes its own way from now on."""
        twin = FlavorResourceTable()
        twin._known = self._known.copy()
        return twin
