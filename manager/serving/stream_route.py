"""`/v1/events`: a stream of changes for one viewer, as server-sent events."""

from http import HTTPStatus

from aiohttp import web

from config.api.meta import ObjectKey
from manager.serving.permits import PERMIT, SocketPermit
from manager.serving.responses import answer
from manager.streaming.event_stream import LIFETIME_SECONDS, MOST_STREAMS, EventStreams, StreamRequest, topics_of
from manager.streaming.live_feed import TOPICS

_RETRY_AFTER_SECONDS = 10
_LONGEST_ID = 64


def stream_route(streams: EventStreams) -> web.RouteDef:
    """Return what answers viewers that stay."""

    async def events(request: web.Request) -> web.StreamResponse:
        try:
            asked = _stream_request(request)
        except ValueError as error:
            return answer({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        if streams.is_full:
            problem = f"{MOST_STREAMS} viewers are connected already; ask the lists instead, or try again later"
            refused = answer({"error": problem}, HTTPStatus.SERVICE_UNAVAILABLE)
            refused.headers["Retry-After"] = str(_RETRY_AFTER_SECONDS)
            return refused
        permit = request.get(PERMIT, SocketPermit())
        permit.stay(LIFETIME_SECONDS + _RETRY_AFTER_SECONDS)
        response = web.StreamResponse(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        response.content_type = "text/event-stream"
        await response.prepare(request)
        await streams.run(response, asked, permit.holds)
        return response

    return web.get("/v1/events", events, allow_head=False)


def _stream_request(request: web.Request) -> StreamRequest:
    topics = topics_of(request.query.get("topics", "").split(","), TOPICS)
    place = request.query.get("workload", "")
    namespace, slash, name = place.partition("/")
    if place and not (slash and namespace and name and "/" not in name and len(place) <= 512):
        raise ValueError(f"workload {place[:64]!r} is not allowed: must be NAMESPACE/NAME")
    last = request.headers.get("Last-Event-ID", "")[:_LONGEST_ID]
    return StreamRequest(topics, ObjectKey(namespace, name) if place else None, last)
