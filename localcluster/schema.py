"""Structural schemas: what a kind's fields are, and pruning, defaulting and validation by them.

The one door to `localcluster.structural`: a write is pruned, then defaulted, then validated, in this order.
"""

from localcluster.structural.defaulting import apply_defaults
from localcluster.structural.openapi import to_openapi
from localcluster.structural.pruning import prune
from localcluster.structural.types import Cause, FieldError, Invariant, Schema
from localcluster.structural.validation import validate

__all__ = ["Cause", "FieldError", "Invariant", "Schema", "apply_defaults", "prune", "to_openapi", "validate"]
