"""`turnstile predict`: what a Kueue would do with pending workloads, from objects alone."""

import sys
from typing import Annotated

import typer


def predict(
    *,
    batch: Annotated[
        bool, typer.Option("--batch", help="Read one scenario per line from standard input, answer one per line.")
    ] = False,
) -> None:
    """Predict whom Kueue would preempt for a pending workload."""
    if batch:
        from manager.cli.predict_batch import answer_lines

        for answer in answer_lines(sys.stdin.buffer):
            sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()
