"""The process that fuzzes one parser: `python -m tests.fuzz.parsers.target NAME` with libFuzzer's arguments."""

import sys
from random import Random

import atheris
import orjson

with atheris.instrument_imports(include=["config", "engine", "gates", "workerclient"]):
    from tests.fuzz.documents import tampered
    from tests.fuzz.parsers.table import PARSERS


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Tamper with a document where it is one, so that not only the JSON parser is reached."""
    chance = Random(seed)  # noqa: S311 - nothing secret
    if chance.random() < 0.7:
        try:
            changed = orjson.dumps(tampered(orjson.loads(data), chance))
        except (TypeError, ValueError):
            pass
        else:
            if len(changed) <= most:
                return changed
    return bytes(atheris.Mutate(data, most))


def main() -> None:
    """Fuzz until told to stop, or until something is found."""
    parser = next(each for each in PARSERS if each.name == sys.argv[1])
    options = {"custom_mutator": mutated} if parser.is_json else {}
    atheris.Setup([sys.argv[0], *sys.argv[2:]], parser.run, **options)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
