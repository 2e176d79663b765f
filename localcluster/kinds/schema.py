"""Structural schemas: what a kind's fields are, and pruning, defaulting and validation by them.

The one door to `localcluster.kinds.structural`: a write is pruned, then defaulted, then validated, in this order.
"""

from localcluster.kinds.structural.defaulting import apply_defaults
from localcluster.kinds.structural.openapi import to_openapi
from localcluster.kinds.structural.pruning import prune
from localcluster.kinds.structural.types import Cause, Schema, SchemaError, SchemaRule
from localcluster.kinds.structural.validation import validate

__all__ = ["Cause", "Schema", "SchemaError", "SchemaRule", "apply_defaults", "prune", "to_openapi", "validate"]
