"""How much of one node is taken, and whether a pod still fits beside that.

Invariant: adding and removing the same footprint leaves a load as it was. The comparison is kube-scheduler's: only what
the pod asks for is compared, so an overcommitted node still takes a pod that asks for none of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

from config.api.quantity import format_request
from engine.pods.values.resources import CPU, MEMORY, conflicts
from engine.pods.values.values import Footprint, HostPort, Node

POD_SLOTS: Final = "pods"
HOST_PORTS: Final = "host ports"


class Shortage(NamedTuple):
    """Why a pod does not fit: what it asks of a resource, and how much of that is free."""

    resource: str
    requested: int
    free: int

    @property
    def lacking(self) -> int:
        """Return how much more would have to be free."""
        return self.requested - self.free

    def __str__(self) -> str:
        """Say it in quantities."""
        if self.resource == HOST_PORTS:
            return "a host port is taken"
        requested, free = format_request(self.resource, self.requested), format_request(self.resource, self.free)
        return f"{self.resource}: needs {requested}, {free} free"


class NodeLoad:
    """The room that pods take of one node."""

    __slots__ = ("pods", "ports", "scored_cpu", "scored_memory", "used")

    def __init__(self, width: int = MEMORY + 1) -> None:
        """Start empty; `width` is how many resources are known so far."""
        self.used = [0] * width
        self.scored_cpu = 0
        self.scored_memory = 0
        self.pods = 0
        self.ports: list[HostPort] = []

    def copy(self) -> Self:
        """Return an independent load."""
        twin = type(self)(0)
        twin.used = self.used.copy()
        twin.scored_cpu, twin.scored_memory, twin.pods = self.scored_cpu, self.scored_memory, self.pods
        twin.ports = self.ports.copy()
        return twin

    def add(self, footprint: Footprint) -> None:
        """Take room for a pod."""
        used = self.used
        for index, amount in footprint.requests:
            if index >= len(used):
                used.extend([0] * (index + 1 - len(used)))
            used[index] += amount
        self.scored_cpu += footprint.scored_cpu
        self.scored_memory += footprint.scored_memory
        self.pods += 1
        if footprint.ports:
            self.ports.extend(footprint.ports)

    def remove(self, footprint: Footprint) -> None:
        """Give the room of a pod back."""
        used = self.used
        for index, amount in footprint.requests:
            used[index] -= amount
        self.scored_cpu -= footprint.scored_cpu
        self.scored_memory -= footprint.scored_memory
        self.pods -= 1
        for port in footprint.ports:
            self.ports.remove(port)

    def fits(self, node: Node, footprint: Footprint) -> bool:
        """Return whether a pod fits beside what is there."""
        if self.pods >= node.pod_limit:
            return False
        used, allocatable = self.used, node.allocatable
        for index, amount in footprint.requests:
            taken = used[index] if index < len(used) else 0
            if index >= len(allocatable) or amount > allocatable[index] - taken:
                return False
        return not (footprint.ports and self.has_conflict(footprint.ports))

    def shortages(self, node: Node, footprint: Footprint, names: Sequence[str]) -> list[Shortage]:
        """Return everything that keeps a pod from fitting, resources by their names; empty when it fits."""
        found = []
        if footprint.ports and self.has_conflict(footprint.ports):
            found.append(Shortage(HOST_PORTS, len(footprint.ports), 0))
        if self.pods >= node.pod_limit:
            found.append(Shortage(POD_SLOTS, 1, node.pod_limit - self.pods))
        for index, amount in footprint.requests:
            taken = self.used[index] if index < len(self.used) else 0
            capacity = node.allocatable[index] if index < len(node.allocatable) else 0
            if amount > capacity - taken:
                found.append(Shortage(names[index], amount, capacity - taken))
        return found

    def how_many_fit(self, node: Node, footprint: Footprint) -> int:
        """Return how many equal pods fit beside what is there."""
        count = node.pod_limit - self.pods
        used, allocatable = self.used, node.allocatable
        for index, amount in footprint.requests:
            taken = used[index] if index < len(used) else 0
            capacity = allocatable[index] if index < len(allocatable) else 0
            count = min(count, (capacity - taken) // amount)
        if footprint.ports:
            count = min(count, 0 if self.has_conflict(footprint.ports) else 1)
        return max(count, 0)

    def score(self, node: Node, footprint: Footprint) -> int:
        """Return how well a pod that fits would sit here: emptier and more evenly used nodes score higher."""
        allocatable = node.allocatable
        cpu = allocatable[CPU]
        memory = allocatable[MEMORY] if len(allocatable) > MEMORY else 0
        total = weights = 0
        own_cpu, own_memory = footprint.arriving or (footprint.scored_cpu, footprint.scored_memory)
        for capacity, taken in ((cpu, self.scored_cpu + own_cpu), (memory, self.scored_memory + own_memory)):
            if capacity:
                weights += 1
                if taken <= capacity:
                    total += (capacity - taken) * 100 // capacity
        least = total // weights if weights else 0
        return least + self._balance(footprint, cpu, memory)

    def _balance(self, footprint: Footprint, cpu: int, memory: int) -> int:
        asked_cpu = asked_memory = 0
        for index, amount in footprint.requests:
            if index == CPU:
                asked_cpu = amount
            elif index == MEMORY:
                asked_memory = amount
        if not asked_cpu and not asked_memory:
            return 0
        used_cpu = self.used[CPU]
        used_memory = self.used[MEMORY] if len(self.used) > MEMORY else 0
        after = _evenness(used_cpu + asked_cpu, cpu, used_memory + asked_memory, memory)
        return 50 + (50 + after - _evenness(used_cpu, cpu, used_memory, memory)) // 2

    def has_conflict(self, wanted: Iterable[HostPort]) -> bool:
        """Return whether any of these ports is taken."""
        return any(conflicts(port, taken) for port in wanted for taken in self.ports)


def _evenness(used_cpu: int, cpu: int, used_memory: int, memory: int) -> int:
    """Return 100 when cpu and memory are used alike, 50 when one is full and the other empty.

    Floating point on purpose: the scheduler rounds down what it computes in doubles.
    """
    if not cpu or not memory:
        return 100
    distance = abs(min(used_cpu / cpu, 1.0) - min(used_memory / memory, 1.0)) / 2
    return int((1 - distance) * 100)
