"""The domains of a worker's topologies as plain data."""

from collections.abc import Iterable

from config.api.meta import Obj
from config.api.quantity import format_amount
from engine.forecasting.topology_room import DomainRoom, FlavorRoom
from engine.topology.node_inventory import NodeAmounts


def topology_rooms_document(rooms: Iterable[FlavorRoom]) -> list[Obj]:
    """Return what is free and used, flavor by flavor."""
    return [
        {
            "flavor": room.flavor,
            "topology": room.topology,
            "levels": list(room.levels),
            "domains": [_domain(each) for each in room.domains],
            "leftOut": room.left_out,
        }
        for room in rooms
    ]


def _domain(room: DomainRoom) -> Obj:
    return {
        "domain": "/".join(room.values),
        "level": room.level,
        "nodes": room.nodes,
        "capacity": _amounts(room.capacity),
        "used": _amounts(room.used),
        "other": _amounts(room.other),
        "free": _amounts(room.free),
    }


def _amounts(amounts: NodeAmounts) -> Obj:
    return {resource: format_amount(resource, amount) for resource, amount in sorted(amounts.items())}
