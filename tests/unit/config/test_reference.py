"""What is written about the configuration agrees with the configuration."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from config.loading.loading import parse_configuration
from config.loading.reference import commented_defaults, json_schema, markdown_table, with_table
from config.loading.shape import walk
from config.sections.settings import Configuration
from tests.unit.config.documents import load

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "configuration.md").read_text()
EXAMPLES = [block for block in re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL) if "kind: Configuration" in block]


def test_the_table_in_the_documentation_is_current() -> None:
    assert with_table(DOCUMENT) == DOCUMENT, "run: python -P -m config.loading.reference docs/configuration.md"


def test_a_document_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the markers"):
        with_table("# nothing here")


def test_the_documentation_has_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"example-{number}" for number in range(len(EXAMPLES))])
def test_every_example_in_the_documentation_is_valid(example: str) -> None:
    assert parse_configuration(example.encode(), "example", {}).warnings == ()


def test_the_commented_defaults_are_the_defaults() -> None:
    loaded = parse_configuration(commented_defaults().encode(), "defaults", {})
    assert loaded.configuration == load().configuration
    assert loaded.warnings == ()


def test_the_sample_worker_in_the_defaults_is_valid_when_uncommented() -> None:
    text = commented_defaults().replace("workers: []", "workers:")
    text = re.sub(r"(?m)^  # (- name: worker-1| .*)$", r"  \1", text, count=8)
    (worker,) = parse_configuration(text.encode(), "defaults", {}).configuration.workers
    assert worker.name == "worker-1"


def test_every_field_says_what_it_means_and_what_it_allows() -> None:
    for path, shape in walk(Configuration):
        assert shape.description.endswith("."), path
        assert shape.words, path
        if shape.section is None:
            assert f"| `{path}` |" in markdown_table()


def test_the_configuration_prints_back_in_the_files_form() -> None:
    configuration = load("gcInterval: 90s\nworkers: [{name: w, labels: {a: b}}]\n").configuration
    printed = configuration.model_dump(mode="json", by_alias=True)
    assert printed["gcInterval"] == "1m30s"
    assert printed["workers"][0]["labels"] == {"a": "b"}
    assert parse_configuration(json.dumps(printed).encode(), "printed", {}).configuration == configuration


def _schemas(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [schema for item in node for schema in _schemas(item)]
    if isinstance(node, dict):
        return [node, *(schema for item in node.values() for schema in _schemas(item))]
    return []


def test_the_schema_describes_the_file() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {
        path for path, _ in walk(Configuration) if "." not in path and "[]" not in path
    }
    assert schema["required"] == ["apiVersion", "kind"]
    objects = [part for part in _schemas(schema) if "properties" in part and part.get("type") == "object"]
    assert objects
    assert all(part["additionalProperties"] is False for part in objects)


def test_the_schemas_patterns_accept_the_defaults_and_refuse_nonsense() -> None:
    patterns = [part for part in _schemas(json_schema()) if isinstance(part.get("pattern"), str)]
    assert any("ms|s|m|h" in part["pattern"] for part in patterns)
    for part in patterns:
        if isinstance(part.get("default"), str):
            assert re.search(part["pattern"], part["default"])
    duration = json_schema()["$defs"]["Gates"]["properties"]["singleClusterPreemptionTimeout"]
    assert (duration["type"], duration["default"]) == ("string", "5m")
    assert not re.search(duration["pattern"], "5 minutes")
