"""The names of the decision table's rows."""

import re
from pathlib import Path
from typing import Any

import pytest

from gates.model.rules import FORMER_CODES, Rule


@pytest.mark.parametrize(("code", "rule"), FORMER_CODES.items(), ids=FORMER_CODES)
def test_a_former_code_is_read_as_the_rule_that_replaced_it(code: str, rule: Rule) -> None:
    assert Rule(code) is rule


NEWER = {Rule.CHECK_REJECTED, Rule.TARGETS_INVALID, Rule.GIVEN_UP}
"""Rules from after the time when rules had codes."""


def test_every_older_rule_had_a_code() -> None:
    assert {*FORMER_CODES.values(), *NEWER} == set(Rule)


@pytest.mark.parametrize("value", ["G0", "", None, ["G7"]])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="is not a valid Rule"):
        Rule(value)


def test_docs_reconcile_lists_every_rule_and_only_those() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", Path("docs/reconcile.md").read_text(), re.MULTILINE)
    assert sorted(set(rows)) == sorted(Rule)
