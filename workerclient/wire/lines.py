"""Cuts a stream of bytes into lines without ever holding a line beyond a limit."""


class LineTooLongError(Exception):
    """A line outgrew the limit."""


class LineSplitter:
    """Collects chunks and gives out whole lines, without their line ends and without empty ones."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun: list[bytes] = []
        self._begun_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        lines = chunk.split(b"\n")
        self._keep(lines[0])
        lines[0] = b"".join(self._begun)
        self._begun, self._begun_bytes = [], 0
        self._keep(lines.pop())
        return [line for line in lines if line]

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._begun_bytes += len(part)
        if self._begun_bytes > self._max_bytes:
            raise LineTooLongError(f"a line has more than {self._max_bytes} bytes")
        self._begun.append(part)
