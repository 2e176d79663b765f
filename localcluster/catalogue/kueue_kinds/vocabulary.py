"""What several of Kueue's kinds share: constructors, quota fields, fair sharing, tolerations."""

from collections.abc import Mapping, Sequence
from typing import Any

from config.names import KUEUE_GROUP
from localcluster.kinds.fields import toleration
from localcluster.kinds.schema import Schema, SchemaRule
from localcluster.kinds.structural.builder import int64, list_of, map_of, obj, quantity, string, subdomain

GROUP = KUEUE_GROUP
VERSION = "v1beta2"
RESOURCE_IN_USE_FINALIZER = f"{KUEUE_GROUP}/resource-in-use"

_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_EFFECTS_SENTENCE = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"


def is_unchanged(new: Any, old: Any) -> bool:
    """Return whether a field kept its value."""
    return bool(new == old)


IMMUTABLE = SchemaRule("field is immutable", is_unchanged, is_transition=True)


def has_distinct_entries(entries: Sequence[Any], _old: Any) -> bool:
    """Return whether no entry occurs twice."""
    return all(entries.count(entry) == 1 for entry in entries)


UNIQUE = SchemaRule("must be unique", has_distinct_entries)


def fair_sharing() -> Schema:
    """Describe the weight of a queue or a cohort."""
    return obj({"weight": quantity(default=1)})


def weighted_share() -> Schema:
    """Describe the share that a queue or a cohort was found to use."""
    return obj({"weightedShare": int64()}, required=("weightedShare",))


def flavor_name() -> Schema:
    """Describe a reference to a ResourceFlavor."""
    return subdomain()


def taint_effects_invariant(*, optional: bool) -> SchemaRule:
    """Return the rule over a list of taints, or of tolerations, where the effect may be left out."""

    def holds(entries: Sequence[Mapping[str, Any]], _old: Any) -> bool:
        return all(entry.get("effect") in _TAINT_EFFECTS or (optional and "effect" not in entry) for entry in entries)

    return SchemaRule(_EFFECTS_SENTENCE, holds)


def _each(condition: Any) -> Any:
    return lambda entries, _old: all(condition(entry) for entry in entries)


def tolerations() -> Schema:
    """Describe tolerations with Kueue's rules about them."""
    return list_of(
        toleration(),
        most=8,
        invariants=(
            SchemaRule(
                "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
                _each(lambda entry: "key" in entry or entry.get("operator") == "Exists"),
            ),
            SchemaRule(
                "effect must be 'NoExecute' when 'tolerationSeconds' is set",
                _each(lambda entry: "tolerationSeconds" not in entry or entry.get("effect") == "NoExecute"),
            ),
            SchemaRule(
                "supported toleration values: 'Equal'(default), 'Exists'",
                _each(lambda entry: entry.get("operator", "Equal") in {"Equal", "Exists"}),
            ),
            SchemaRule(
                "a value must be empty when 'operator' is 'Exists'",
                _each(lambda entry: entry.get("operator") != "Exists" or "value" not in entry),
            ),
            taint_effects_invariant(optional=True),
        ),
    )


def resource_groups() -> Schema:
    """Describe quota: groups of resources, the flavors of each group, the amounts of each flavor."""
    amounts = obj(
        {"name": string(), "nominalQuota": quantity(), "borrowingLimit": quantity(), "lendingLimit": quantity()},
        required=("name", "nominalQuota"),
    )
    flavor = obj(
        {"name": flavor_name(), "resources": list_of(amounts, keys=("name",), least=1, most=64)},
        required=("name", "resources"),
    )
    return list_of(
        obj(
            {
                "coveredResources": list_of(string(), least=1, most=64),
                "flavors": list_of(flavor, keys=("name",), least=1, most=64),
            },
            required=("coveredResources", "flavors"),
            invariants=(
                SchemaRule(
                    "flavors must have the same number of resources as the coveredResources",
                    lambda group, _old: all(
                        len(flavor["resources"]) == len(group["coveredResources"]) for flavor in group["flavors"]
                    ),
                ),
            ),
        ),
        most=16,
    )


def flavor_usage(*, with_borrowed: bool) -> Schema:
    """Describe how much of each flavor is in use."""
    amounts = {"name": string(), "total": quantity()} | ({"borrowed": quantity()} if with_borrowed else {})
    return list_of(
        obj(
            {
                "name": flavor_name(),
                "resources": list_of(obj(amounts, required=("name",)), keys=("name",), most=64),
            },
            required=("name", "resources"),
        ),
        keys=("name",),
        most=64,
    )


def labels() -> Schema:
    """Describe a map of strings."""
    return map_of(string())
