"""Finds the cost model that the configuration names: one that ships with Turnstile, or one of an installed package.

A package offers a model by an entry point of the group GROUP. Only the model that is asked for is imported.
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from config.sections.settings import Configuration
from engine.cost.models import SHIPPED, CostModel
from manager.base.errors import StartupError

GROUP: Final = "turnstile.cost_models"


class ModelError(Exception):
    """The model cannot be used; the message is for the operator."""


def configured_model(configuration: Configuration) -> CostModel:
    """Return the model that the configuration names; raises `StartupError` if it cannot be used."""
    try:
        return load_model(configuration.cost_controller.model)
    except ModelError as error:
        raise StartupError(f"costController.model: {error}") from error


def load_model(name: str) -> CostModel:
    """Return the model of that name."""
    offer = find_model(name)
    return SHIPPED[name] if offer is None else _load(offer)


def not_installed(name: str, names: Iterable[str]) -> str:
    """Say which models there are."""
    return f'"{name}" is not installed: must be one of {", ".join(names)}'


def find_model(name: str) -> EntryPoint | None:
    """Return who offers the model of that name, None if Turnstile ships it; nothing is imported."""
    offered = entry_points(group=GROUP, name=name)
    if name in SHIPPED:
        if offered:
            raise ModelError(f'"{name}" ships with Turnstile and is also offered by {_packages(*offered)}: rename that')
        return None
    if not offered:
        names = sorted({*SHIPPED, *(each.name for each in entry_points(group=GROUP))})
        raise ModelError(not_installed(name, names))
    if len(offered) > 1:
        raise ModelError(f'"{name}" is offered by several packages: {_packages(*offered)}')
    (offer,) = offered
    return offer


def _load(offer: EntryPoint) -> CostModel:
    try:
        found = offer.load()
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ModelError(f'"{offer.name}" ({offer.value} of {_packages(offer)}) cannot be loaded: {problem}') from error
    if not callable(found):
        raise ModelError(f'"{offer.name}" ({offer.value} of {_packages(offer)}) is not a function')
    model: CostModel = found
    return model


def _packages(*offers: EntryPoint) -> str:
    return ", ".join(sorted(offer.dist.name if offer.dist is not None else offer.module for offer in offers))
