"""Prints the chart's schema of its values: values.schema.in.json, with the configuration as the settings define it.

`make docs` writes turnstile/values.schema.json from it. Texts and defaults stay out: docs/configuration.md has them.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from config.loading.reference import json_schema

_SOURCE: Final = Path(__file__).with_name("values.schema.in.json")
_SET_BY_CHART: Final = {
    "HubSection": ("namespace", "kubeconfig", "context"),
    "Http": (
        "bindAddress",
        "certificateFile",
        "keyFile",
        "authorization",
        "tokenFile",
        "probeBindAddress",
        "probePort",
    ),
}
_LEFT_OUT: Final = ("description", "default")

Obj = dict[str, Any]


def values_schema() -> Obj:
    """Return the whole schema."""
    schema: Obj = json.loads(_SOURCE.read_text())
    settings = json_schema()
    defined = {name: _plain(each) for name, each in settings["$defs"].items()}
    for name, fields in _SET_BY_CHART.items():
        defined[name]["properties"] |= dict.fromkeys(fields, False)
    defined["Http"]["properties"]["port"] = {"$ref": "#/definitions/port"}
    defined["Http"]["required"] = ["port"]
    schema["definitions"] |= {f"configuration.{name}": each for name, each in defined.items()}
    schema["properties"]["configuration"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {**_properties(settings["properties"]), "apiVersion": False, "kind": False},
        "required": ["http"],
    }
    return schema


def _plain(value: Any) -> Any:
    """Leave out texts and defaults, and let references point into this document."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return {"$ref": value["$ref"].replace("#/$defs/", "#/definitions/configuration.")}
    kept = {key: _plain(each) for key, each in value.items() if key not in (*_LEFT_OUT, "properties")}
    return {**kept, "properties": _properties(value["properties"])} if "properties" in value else kept


def _properties(fields: Obj) -> Obj:
    return {name: _plain(each) for name, each in fields.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(values_schema(), indent=1, sort_keys=True) + "\n")
