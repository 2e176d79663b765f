"""The order in which Kueue walks the resources of a request.

With VectorizedResourceRequests (its default) Kueue keeps requests sorted by the FNV-1a-64 hash of the resource's name.
The order decides which resource's failure is reported, and nothing else.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

_OFFSET_BASIS: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1


def hash_order(resources: Iterable[str]) -> list[str]:
    """Sort resource names as Kueue's request vectors are sorted: by hash, equal hashes by name."""
    return sorted(resources, key=_order_key)


@lru_cache(maxsize=1 << 12)
def _order_key(resource: str) -> tuple[int, str]:
    digest = _OFFSET_BASIS
    for byte in resource.encode():
        digest = (digest ^ byte) * _PRIME & _MASK
    return digest, resource
