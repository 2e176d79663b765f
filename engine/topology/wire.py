"""The two wire forms of `topologyAssignment`: v1beta1 lists its domains, v1beta2 packs them into slices.

Decoding is bounded: what a status could not hold is an error that names the field, found before anything is built.
"""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from sys import intern
from typing import Any, Final

from engine.vocabulary.errors import FieldError
from engine.vocabulary.topology import HOSTNAME, PlacedPods, TopologyAssignment

MAX_DOMAINS: Final = 100_000
"""More than any cluster has Nodes. A status of 1.5 MiB could name more, but only with values that are no Node's."""

_MAX_SLICES: Final = 1_000
_MAX_COUNT: Final = 2**31 - 1


def decode(raw: Mapping[str, Any], path: str) -> TopologyAssignment:
    """Read a raw topologyAssignment in either form."""
    levels = raw.get("levels")
    if not isinstance(levels, list) or not levels or not all(isinstance(level, str) for level in levels):
        raise FieldError(f"{path}.levels", "must be a list of at least one label")
    if raw.get("slices") is not None:
        domains = list(_decode_slices(_list(raw, "slices", path), len(levels), path))
    else:
        domains = list(_decode_domains(_list(raw, "domains", path), len(levels), path))
    return TopologyAssignment(tuple(map(intern, levels)), tuple(domains))


def encode(assignment: TopologyAssignment, *, by_hostname_prefix: bool = True) -> dict[str, Any]:
    """Write an assignment in the form of v1beta2, with the slices that Kueue makes."""
    domains = assignment.domains
    single: dict[str, Any] = {"levels": list(assignment.levels)}
    if domains:
        single["slices"] = [_slice(domains)]
    if not by_hostname_prefix or assignment.levels[-1] != HOSTNAME or len(domains) < 2:
        return single
    runs = _prefix_runs([domain.values[-1] for domain in domains])
    if len(runs) == 1:
        return single
    split = {"levels": list(assignment.levels), "slices": [_slice(domains[start:end]) for start, end in runs]}
    if len(domains) <= MAX_DOMAINS and _json_length(single) < _json_length(split):
        return single
    return split


def _decode_domains(entries: Sequence[Any], depth: int, path: str) -> Iterator[PlacedPods]:
    if len(entries) > MAX_DOMAINS:
        raise _too_many(f"{path}.domains", len(entries))
    for index, entry in enumerate(entries):
        where = f"{path}.domains[{index}]"
        if not isinstance(entry, dict):
            raise FieldError(where, "must be a domain with values and a count")
        values = _texts(entry, "values", where)
        if len(values) != depth:
            raise FieldError(f"{where}.values", f"has {len(values)} values for {depth} levels")
        yield PlacedPods(values, _count(entry.get("count"), f"{where}.count"))


def _decode_slices(slices: Sequence[Any], depth: int, path: str) -> Iterator[PlacedPods]:
    total = 0
    for index, entry in enumerate(slices):
        where = f"{path}.slices[{index}]"
        if not isinstance(entry, dict):
            raise FieldError(where, "must be a slice with domainCount, valuesPerLevel and podCounts")
        size = _count(entry.get("domainCount"), f"{where}.domainCount")
        total += size
        if total > MAX_DOMAINS:
            raise _too_many(f"{where}.domainCount", total)
        columns = _list(entry, "valuesPerLevel", where)
        if len(columns) != depth:
            raise FieldError(f"{where}.valuesPerLevel", f"has {len(columns)} entries for {depth} levels")
        values = [_column(column, size, f"{where}.valuesPerLevel[{i}]") for i, column in enumerate(columns)]
        counts = _pod_counts(entry.get("podCounts"), size, f"{where}.podCounts")
        yield from (PlacedPods(row, count) for row, count in zip(zip(*values, strict=True), counts, strict=True))


def _column(raw: object, size: int, path: str) -> list[str]:
    """Return the values of one level, domain by domain."""
    if not isinstance(raw, dict):
        raise FieldError(path, "must have universal or individual")
    universal, individual = raw.get("universal"), raw.get("individual")
    if isinstance(universal, str) and individual is None:
        return [intern(universal)] * size
    if not isinstance(individual, dict) or universal is not None:
        raise FieldError(path, "must have exactly one of universal (text) and individual")
    roots = _texts(individual, "roots", f"{path}.individual")
    if len(roots) != size:
        raise FieldError(f"{path}.individual.roots", f"has {len(roots)} entries for {size} domains")
    prefix, suffix = (_affix(individual, key, f"{path}.individual") for key in ("prefix", "suffix"))
    return [intern(f"{prefix}{root}{suffix}") for root in roots]


def _pod_counts(raw: object, size: int, path: str) -> list[int]:
    if not isinstance(raw, dict):
        raise FieldError(path, "must have universal or individual")
    universal, individual = raw.get("universal"), raw.get("individual")
    if (universal is None) == (individual is None):
        raise FieldError(path, "must have exactly one of universal and individual")
    if individual is None:
        return [_count(universal, f"{path}.universal")] * size
    counts = _list(raw, "individual", path)
    if len(counts) != size:
        raise FieldError(f"{path}.individual", f"has {len(counts)} entries for {size} domains")
    return [_count(count, f"{path}.individual[{index}]") for index, count in enumerate(counts)]


def _list(raw: Mapping[str, Any], key: str, path: str) -> list[Any]:
    value = raw.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldError(f"{path}.{key}", "must be a list")
    return value


def _texts(raw: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
    values = _list(raw, key, path)
    if not all(isinstance(value, str) for value in values):
        raise FieldError(f"{path}.{key}", "must be a list of texts")
    return tuple(map(intern, values))


def _affix(raw: Mapping[str, Any], key: str, path: str) -> str:
    value = raw.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FieldError(f"{path}.{key}", f"{value!r} is not allowed: must be text")
    return value


def _count(value: object, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_COUNT:
        raise FieldError(path, f"{value!r} is not allowed: must be a whole number from 0 to {_MAX_COUNT}")
    return value


def _too_many(path: str, found: int) -> FieldError:
    return FieldError(path, f"{found} domains are not allowed: at most {MAX_DOMAINS}")


def _slice(domains: Sequence[PlacedPods]) -> dict[str, Any]:
    counts = [domain.pods for domain in domains]
    return {
        "domainCount": len(domains),
        "valuesPerLevel": [_packed(values) for values in zip(*(domain.values for domain in domains), strict=True)],
        "podCounts": {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts},
    }


def _packed(values: Sequence[str]) -> dict[str, Any]:
    """Write the values of one level once, or what they have in common once."""
    if len(set(values)) == 1:
        return {"universal": values[0]}
    encoded = [value.encode() for value in values]
    shortest = min(map(len, encoded))
    prefix, suffix = _common_prefix(encoded), _common_prefix([value[::-1] for value in encoded])
    prefix = min(prefix, shortest - suffix)
    individual: dict[str, Any] = {}
    if prefix:
        individual["prefix"] = encoded[0][:prefix].decode()
    if suffix:
        individual["suffix"] = encoded[0][-suffix:].decode()
    individual["roots"] = [value[prefix : len(value) - suffix].decode() for value in encoded]
    return {"individual": individual}


def _common_prefix(values: Sequence[bytes]) -> int:
    low, high = min(values), max(values)
    length = min(len(low), len(high))
    return next((index for index in range(length) if low[index] != high[index]), length)


def _prefix_runs(hostnames: Sequence[str]) -> list[tuple[int, int]]:
    """Cut the hostnames where their reusable prefix changes, with the longest prefixes that give few enough runs."""
    candidates = [_prefixes(name) for name in hostnames]
    occurrences: dict[str, int] = {}
    for prefixes in candidates:
        for prefix in prefixes:
            occurrences[prefix] = occurrences.get(prefix, 0) + 1
    for depth in range(max(map(len, candidates)), 0, -1):
        keys = [
            next((prefix for prefix in reversed(prefixes[:depth]) if occurrences[prefix] > 1), "")
            for prefixes in candidates
        ]
        runs = _runs(keys)
        if len(runs) <= _MAX_SLICES:
            return runs
    return [(0, len(hostnames))]


def _prefixes(hostname: str) -> list[str]:
    return [hostname[: index + 1] for index, sign in enumerate(hostname[:-1]) if sign == "-"]


def _runs(keys: Sequence[str]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(1, len(keys) + 1):
        if index == len(keys) or keys[index] != keys[start] or index - start == MAX_DOMAINS:
            runs.append((start, index))
            start = index
    return runs


def _json_length(value: object) -> int:
    return len(dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
