"""The configuration described for people and editors: a markdown table, the commented defaults, the JSON schema.

All three are computed from the model, so that they are right by construction.
"""

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from config import names
from config.loading.shape import FieldShape, fields_of, walk
from config.sections.settings import Configuration

TABLE_BEGIN: Final = "<!-- config-table:begin -->"
TABLE_END: Final = "<!-- config-table:end -->"

_WIDTH: Final = 110
_REQUIRED: Final = {"apiVersion": names.CONFIG_API_VERSION, "kind": names.CONFIG_KIND}
_SAMPLES: Final = {
    "workers": """\
  # - name: worker-1
  #   kubeconfig:
  #     path: /etc/multikueue/kubeconfigs/worker-1   # or, instead of path:
  #     # secret: {name: worker-1, key: kubeconfig}
  #   qps: 50
  #   burst: 100
  #   gatesUnsupported: sequential
  #   labels: {region: eu}
""",
    "accessProviders": """\
    # - name: gke
    #   command: /usr/local/bin/gke-gcloud-auth-plugin
    #   args: []
    #   env: [{name: HOME, value: /tmp}]
    #   apiVersion: client.authentication.k8s.io/v1
    #   provideClusterInfo: true
""",
    "customKinds": """\
    # - group: example.com
    #   version: v1
    #   kind: RenderJob
    #   plural: renderjobs
    #   managedBy: spec.managedBy
    #   copyStatus: true
""",
}


def markdown_table() -> str:
    """Return the reference of all fields as a markdown table."""
    rows = ["| Field | Allowed | Default | Meaning |", "|---|---|---|---|"]
    for path, shape in walk(Configuration):
        if shape.section is None or shape.repeated or shape.nullable:
            cells = (f"`{path}`", _cell(shape.words), _default_cell(path, shape), _cell(shape.description))
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def with_table(markdown: str) -> str:
    """Return a document with the table between its markers renewed; a ValueError says that the markers are missing."""
    before, begin, rest = markdown.partition(TABLE_BEGIN)
    _, end, after = rest.partition(TABLE_END)
    if not (begin and end):
        raise ValueError(f"the document lacks the markers {TABLE_BEGIN} and {TABLE_END}")
    return f"{before}{TABLE_BEGIN}\n{markdown_table()}\n{TABLE_END}{after}"


def commented_defaults() -> str:
    """Return the default configuration as YAML with the meaning of each field above it; it is itself valid."""
    return "\n".join(_yaml_lines(Configuration, "")) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file, for editors."""
    described = Configuration.model_json_schema(by_alias=True, mode="serialization")
    properties = described["properties"]
    for field, value in _REQUIRED.items():
        properties[field] = {"const": value, "description": properties[field]["description"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://{names.CONFIG_API_VERSION}/{names.CONFIG_KIND}.json",
        **_tidy(described),
        "title": "Turnstile configuration",
    }


def _tidy(node: Any) -> Any:
    """Drop the titles that pydantic makes out of names, and the line breaks of descriptions."""
    if isinstance(node, list):
        return [_tidy(item) for item in node]
    if not isinstance(node, dict):
        return node
    tidied = {key: _tidy(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(description := tidied.get("description"), str):
        tidied["description"] = " ".join(description.split())
    return tidied


def _yaml_lines(section: type[BaseModel], indent: str) -> Iterator[str]:
    for file_name, shape in fields_of(section).items():
        for line in textwrap.wrap(shape.description, _WIDTH - len(indent) - 2):
            yield f"{indent}# {line}"
        if shape.section and not shape.repeated:
            yield f"{indent}{file_name}:"
            yield from _yaml_lines(shape.section, f"{indent}  ")
        elif shape.section:
            yield f"{indent}{file_name}: []"
            yield _SAMPLES[file_name].rstrip("\n")
        elif shape.default is None and not shape.required:
            yield f"{indent}{file_name}: null"
        else:
            yield f"{indent}{file_name}: {_file_form(file_name, shape)}"


def _file_form(file_name: str, shape: FieldShape) -> str:
    """Return a default as it is written in YAML (JSON is YAML); plain words need no quotes."""
    if shape.required:
        return _REQUIRED.get(file_name, "")
    if shape.setting is None:
        raise TypeError(f"{file_name} is a section: it has no one-line form")
    value = (
        [shape.setting.dump(item) for item in shape.default] if shape.repeated else shape.setting.dump(shape.default)
    )
    return value if isinstance(value, str) else json.dumps(value)


def _default_cell(path: str, shape: FieldShape) -> str:
    if shape.required:
        return "(required)"
    if shape.default is None:
        return "(none)"
    return "`[]`" if shape.section else f"`{_file_form(path, shape)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]):
        document.write_text(with_table(document.read_text()))
