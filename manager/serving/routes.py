"""The paths under which the daemon answers the `turnstile` commands: the same on its socket and on an address.

Every answer has `now`, the daemon's time, because ages mean nothing beside another clock. An error is
`{"error": "one sentence"}`. Each class of requests is limited, so that the daemon's own work goes on
under any load; a rejected client is told when to try again (429). Lists come in pages: an answer with `continue` is not
the end, and that text, given back, leads to the next page.
"""

from aiohttp import web

from config.api.identifiers import WorkerName
from manager.planning.api import answer_plan
from manager.serving.inspection import Inspector
from manager.serving.pages import ListPage
from manager.serving.parameters import (
    before_of,
    key_of,
    namespace_of,
    page_request,
    rank_request,
    victim_query,
    wants_nodes,
)
from manager.serving.responses import answer, in_turn, no_workload, thought, unknown
from manager.serving.stream_route import stream_route


def api_routes(inspector: Inspector) -> list[web.RouteDef]:
    """Return what answers questions; nothing here changes anything."""
    pages = inspector.pages
    lists = {
        "workers": inspector.worker_page,
        "workloads": pages.workloads,
        "gates": pages.gates,
        "forecasts": pages.forecasts,
    }

    async def listing(request: web.Request) -> web.Response:
        subject = request.match_info["subject"]
        if subject not in lists:
            return unknown(f"there is no list of {subject}")
        page = await lists[subject](page_request(request))
        return answer({"now": inspector.now(), subject: page.items, "continue": _place(page)})

    async def overview(request: web.Request) -> web.Response:
        return answer({"now": inspector.now(), **await inspector.overview(namespace_of(request))})

    async def shadow(_request: web.Request) -> web.Response:
        report = inspector.shadow()
        if report is None:
            return unknown("this daemon does not run in shadow mode; start one with `turnstile run --shadow`")
        now = inspector.now()
        return await thought(inspector.thread, lambda: {"now": now, **report()})

    async def explanation(request: web.Request) -> web.Response:
        key = key_of(request)
        found = await inspector.explain(key)
        return no_workload(key) if found is None else answer({"now": inspector.now(), **found})

    async def lanes(request: web.Request) -> web.Response:
        key = key_of(request)
        found = await inspector.lanes(key)
        return no_workload(key) if found is None else answer(found)

    async def timeline(request: web.Request) -> web.Response:
        key = key_of(request)
        found = await inspector.timeline(key, before_of(request))
        if not found["events"]:
            return no_workload(key)
        return await thought(inspector.thread, lambda: {"now": inspector.now(), **found})

    async def victims(request: web.Request) -> web.Response:
        found = await inspector.victims(victim_query(request, inspector.now_ns()))
        return await thought(inspector.thread, lambda: {"now": inspector.now(), **found})

    async def job(request: web.Request) -> web.Response:
        return answer({"workloads": await pages.workloads_of_job(request.match_info["kind"], key_of(request))})

    async def plan(request: web.Request) -> web.Response:
        found, status = await answer_plan(inspector.planner, await request.read())
        return await thought(inspector.planner.thread, lambda: found, status)

    turns = inspector.questions
    return [
        web.post("/v1/plan", in_turn(turns.plans, plan)),
        web.get("/v1/overview", in_turn(turns.lists, overview)),
        web.get("/v1/shadow", in_turn(turns.lists, shadow)),
        web.get("/v1/victims", in_turn(turns.timelines, victims)),
        stream_route(inspector.streams),
        *_live_routes(inspector),
        web.get("/v1/{subject}", in_turn(turns.lists, listing)),
        web.get("/v1/workloads/{namespace}/{name}/explanation", in_turn(turns.lists, explanation)),
        web.get("/v1/workloads/{namespace}/{name}/lanes", in_turn(turns.lists, lanes)),
        web.get("/v1/workloads/{namespace}/{name}/timeline", in_turn(turns.timelines, timeline)),
        web.get("/v1/jobs/{kind}/{namespace}/{name}", in_turn(turns.lists, job)),
    ]


def _live_routes(inspector: Inspector) -> list[web.RouteDef]:
    """Return what answers `turnstile top`."""

    async def top(request: web.Request) -> web.Response:
        document = await inspector.live.document(rank_request(request))
        now = inspector.now()
        return await thought(inspector.thread, lambda: {"now": now, **document})

    async def quota(request: web.Request) -> web.Response:
        worker = WorkerName(request.match_info["worker"])
        page = await inspector.live.quotas.page(worker, page_request(request))
        if page is None:
            return unknown(f"there is no worker {worker}")
        return answer({"now": inspector.now(), "quota": page.items, "continue": _place(page)})

    async def topology(request: web.Request) -> web.Response:
        worker = WorkerName(request.match_info["worker"])
        found = await inspector.topologies.document(worker, with_lowest=wants_nodes(request))
        if found is None:
            return unknown(f"there is no worker {worker}")
        now = inspector.now()
        return await thought(inspector.thread, lambda: {"now": now, **found})

    slots = inspector.questions.lists
    return [
        web.get("/v1/top", in_turn(slots, top)),
        web.get("/v1/workers/{worker}/quota", in_turn(slots, quota)),
        web.get("/v1/workers/{worker}/topology", in_turn(slots, topology)),
    ]


def _place(page: ListPage) -> str:
    return f"{page.last.namespace}/{page.last.name}" if page.last is not None else ""
