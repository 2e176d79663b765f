"""A sample of what `make fuzz` tries by the hundred thousand."""

from io import StringIO

import pytest

from config.sections.process import Logging
from manager.logging.logs import configure_logging
from tests.fuzz.trial import fuzzed


@pytest.mark.parametrize("seed", ["a", "b", "c"])
async def test_F1_a_worker_link_never_ends_on_any_answer(seed: str) -> None:
    configure_logging(Logging(), StringIO())
    outcome = await fuzzed(700, seed)
    assert outcome.findings == []
    assert outcome.cases >= 700
    assert outcome.objects
    assert "ProtocolViolation" in outcome.refused
