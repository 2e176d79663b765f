"""Answers that no API server sends, for workers that went bad."""

import orjson

OPENAPI = "/openapi/v3"

ODD_DOCUMENTS: dict[str, object] = {
    "components are a string": {"components": "no"},
    "schemas are a list": {"components": {"schemas": ["x.Workload"]}},
    "the schema is a number": {"components": {"schemas": {"x.Workload": 7}}},
    "properties are a list": {"components": {"schemas": {"x.Workload": {"properties": [1]}}}},
    "the spec is a string": {"components": {"schemas": {"x.Workload": {"properties": {"spec": "yes"}}}}},
    "nothing": {},
}
ODD_MEDIA_TYPES = {
    "a star without a value": "application/json; c*",
    "a star in parts": "application/json; a* =x; a*1=y",
    "a star with 5000 digits": f"application/json; a*{'1' * 5000}=x",
}


def raw_answer(body: bytes, media_type: str = "application/json", status: str = "200 OK", **headers: str) -> bytes:
    """Return an HTTP answer as it goes over the wire."""
    named = {"Content-Type": media_type, "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def document(content: object, media_type: str = "application/json") -> bytes:
    """Return the answer that carries a document."""
    return raw_answer(orjson.dumps(content), media_type)


ODD_ANSWERS = {
    **{f"OpenAPI: {name}": document(content) for name, content in ODD_DOCUMENTS.items()},
    **{f"Content-Type: {name}": document({}, media_type) for name, media_type in ODD_MEDIA_TYPES.items()},
}
FEW_ODD_ANSWERS = {name: ODD_ANSWERS[name] for name in (*list(ODD_ANSWERS)[:2], *list(ODD_ANSWERS)[-2:])}
"""For tests whose worlds take long to set up."""
