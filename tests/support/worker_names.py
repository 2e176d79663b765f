"""The names of workers in tests."""

from typing import Final

from config.api.identifiers import WorkerName

W1: Final = WorkerName("w1")
W2: Final = WorkerName("w2")
W3: Final = WorkerName("w3")
W4: Final = WorkerName("w4")
