"""What a question asks for: the parameters of a request, each refused by name where it cannot be used."""

from typing import Final

from aiohttp import web

from config.api.meta import NANOSECONDS, ObjectKey
from gates.reports.victims import VictimFilter
from manager.journal.timelines import Before
from manager.journal.victims import VictimQuery
from manager.serving.live_view import MOST_WORKLOADS
from manager.serving.pages import PAGE, PageRequest
from manager.serving.ranking import RankRequest, WorkloadOrder

_LONGEST_PLACE: Final = 1024


class BadQuestionError(ValueError):
    """A parameter that cannot be used; the message names it and what is allowed."""


def namespace_of(request: web.Request) -> str | None:
    """Return the namespace to look in; None for all."""
    return request.query.get("namespace") or None


def limit_refused(limit: str, most: int) -> str:
    """Say which number of items may be asked for."""
    return f"limit {limit!r} is not allowed: must be a number from 1 to {most}"


def _limit(request: web.Request, most: int) -> int:
    limit = request.query.get("limit") or str(most)
    if not limit.isascii() or not limit.isdecimal() or not 1 <= len(limit) <= 9 or not 1 <= int(limit) <= most:
        raise BadQuestionError(limit_refused(limit[:64], most))
    return int(limit)


def rank_request(request: web.Request) -> RankRequest:
    """Return which Workloads a live view shows."""
    contains, order = request.query.get("contains") or "", request.query.get("order") or WorkloadOrder.QUEUE
    if len(contains) > _LONGEST_PLACE:
        raise BadQuestionError(
            f"contains {contains[:64]!r} is not allowed: must be at most {_LONGEST_PLACE} characters"
        )
    if order not in set(WorkloadOrder):
        allowed = " or ".join(WorkloadOrder)
        raise BadQuestionError(f"order {order[:64]!r} is not allowed: must be {allowed}")
    return RankRequest(namespace_of(request), contains, WorkloadOrder(order), _limit(request, MOST_WORKLOADS))


def page_request(request: web.Request) -> PageRequest:
    """Return which page of a list is asked for."""
    place = request.query.get("continue") or ""
    limit = _limit(request, PAGE)
    namespace, slash, name = place.partition("/")
    if len(place) > _LONGEST_PLACE or bool(place) != bool(slash):
        raise BadQuestionError(f"continue {place[:64]!r} is not allowed: must be what an answer said")
    after = ObjectKey(namespace, name) if place else None
    return PageRequest(namespace_of(request), after, limit, _switch(request, "finished"))


def wants_nodes(request: web.Request) -> bool:
    """Return whether the lowest level of topologies is asked for."""
    return _switch(request, "nodes")


def _switch(request: web.Request, name: str) -> bool:
    value = request.query.get(name) or "false"
    if value not in ("true", "false"):
        raise BadQuestionError(f"{name} {value[:64]!r} is not allowed: must be true or false")
    return value == "true"


def before_of(request: web.Request) -> Before | None:
    """Return before which entry of a journal a page begins."""
    place = request.query.get("continue") or ""
    try:
        return Before.parse(place[:_LONGEST_PLACE]) if place else None
    except ValueError as error:
        raise BadQuestionError(str(error)) from None


def victim_query(request: web.Request, now_ns: int) -> VictimQuery:
    """Return which victims are asked for."""
    asked = request.query
    seconds, place = asked.get("sinceSeconds") or "86400", asked.get("continue") or ""
    if not seconds.isascii() or not seconds.isdecimal() or not 1 <= len(seconds) <= 9:
        raise BadQuestionError(f"sinceSeconds {seconds[:64]!r} is not allowed: must be a number below 10^9")
    try:
        before = Before.parse(place[:_LONGEST_PLACE]).entry if place else None
    except ValueError as error:
        raise BadQuestionError(str(error)) from None
    wanted = VictimFilter(*(asked.get(name) or "" for name in ("namespace", "name", "worker")))
    return VictimQuery(wanted, now_ns - int(seconds) * NANOSECONDS, before)


def key_of(request: web.Request) -> ObjectKey:
    """Return which object a path names."""
    return ObjectKey(request.match_info["namespace"], request.match_info["name"])
