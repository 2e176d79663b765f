"""Every parser of what others write takes its corpus: it reads an input or refuses it, and does nothing else."""

from pathlib import Path

import pytest

from tests.fuzz.parsers.corpus import CORPUS, keep, load, smallest
from tests.fuzz.parsers.table import PARSERS, FuzzedParser

NAMES = [parser.name for parser in PARSERS]


@pytest.mark.parametrize("parser", PARSERS, ids=NAMES)
def test_a_parser_takes_its_corpus(parser: FuzzedParser) -> None:
    for data in load(parser):
        parser.run(data)


@pytest.mark.parametrize("parser", PARSERS, ids=NAMES)
def test_what_a_parser_reads_every_day_is_not_refused(parser: FuzzedParser) -> None:
    for data in parser.seeds:
        parser.parse(data)


def test_the_corpus_belongs_to_parsers() -> None:
    assert {path.stem for path in CORPUS.glob("*")} <= {*NAMES}
    assert len(set(NAMES)) == len(NAMES)


def test_an_exception_that_is_no_refusal_is_a_finding() -> None:
    broken = FuzzedParser("broken", lambda data: data.decode()[7], (ValueError,), (b"12345678",))
    broken.run(b"\xff")
    with pytest.raises(IndexError):
        broken.run(b"1")


def test_inputs_that_reach_nothing_new_are_not_kept() -> None:
    parser = next(each for each in PARSERS if each.name == "quantity")
    assert smallest(parser, [b"7Gi", b"500m", b"8Gi", b"9Gi", b"what"]) == [b"500m", b"7Gi", b"what"]


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    parser = PARSERS[0]
    every_byte = bytes(range(256))
    assert keep(parser, [every_byte, b"", *parser.seeds], tmp_path) == 2
    assert load(parser, tmp_path) == [*parser.seeds, b"", every_byte]
