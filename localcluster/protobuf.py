"""Reads the protobuf bodies that kubectl sends where it makes the object itself (`kubectl create namespace …`).

Only what those commands can express: the messages below, nothing more. A field that is not listed is refused by name,
because dropping it silently would store another object than the one that was sent. Answers are always JSON.
"""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from localcluster.clock import rfc3339
from localcluster.kinds import Obj
from localcluster.status import ApiError

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"

# number: (JSON name, type). A type is text, bytes, number or flag, or a message; [] a list, {} a map from text.
# A leading "?" marks fields whose zero value means something; elsewhere zero means that the field is not set.
_MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "ObjectMeta": {
        1: ("name", "text"),
        2: ("generateName", "text"),
        3: ("namespace", "text"),
        4: ("selfLink", "text"),
        5: ("uid", "text"),
        6: ("resourceVersion", "text"),
        7: ("generation", "number"),
        8: ("creationTimestamp", "Time"),
        9: ("deletionTimestamp", "Time"),
        10: ("deletionGracePeriodSeconds", "?number"),
        11: ("labels", "{}text"),
        12: ("annotations", "{}text"),
        14: ("finalizers", "[]text"),
    },
    "Time": {1: ("seconds", "number"), 2: ("nanos", "number")},
    "Quantity": {1: ("string", "text")},
    "Namespace": {1: ("metadata", "ObjectMeta"), 2: ("spec", "NamespaceSpec"), 3: ("status", "NamespaceStatus")},
    "NamespaceSpec": {1: ("finalizers", "[]text")},
    "NamespaceStatus": {1: ("phase", "text")},
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{}bytes"),
        3: ("type", "text"),
        4: ("stringData", "{}text"),
        5: ("immutable", "?flag"),
    },
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "{}text"),
        3: ("binaryData", "{}bytes"),
        4: ("immutable", "?flag"),
    },
    "ServiceAccount": {1: ("metadata", "ObjectMeta"), 4: ("automountServiceAccountToken", "?flag")},
    "PriorityClass": {
        1: ("metadata", "ObjectMeta"),
        2: ("value", "?number"),
        3: ("globalDefault", "flag"),
        4: ("description", "text"),
        5: ("preemptionPolicy", "text"),
    },
    "Job": {1: ("metadata", "ObjectMeta"), 2: ("spec", "JobSpec"), 3: ("status", "JobStatus")},
    "JobSpec": {
        1: ("parallelism", "?number"),
        2: ("completions", "?number"),
        3: ("activeDeadlineSeconds", "?number"),
        6: ("template", "PodTemplateSpec"),
        7: ("backoffLimit", "?number"),
        8: ("ttlSecondsAfterFinished", "?number"),
        9: ("completionMode", "text"),
        10: ("suspend", "?flag"),
    },
    "JobStatus": {
        4: ("active", "number"),
        5: ("succeeded", "number"),
        6: ("failed", "number"),
        7: ("completedIndexes", "text"),
    },
    "PodTemplateSpec": {1: ("metadata", "ObjectMeta"), 2: ("spec", "PodSpec")},
    "PodSpec": {
        2: ("containers", "[]Container"),
        3: ("restartPolicy", "text"),
        4: ("terminationGracePeriodSeconds", "?number"),
        6: ("dnsPolicy", "text"),
        7: ("nodeSelector", "{}text"),
        8: ("serviceAccountName", "text"),
        9: ("serviceAccount", "text"),
        10: ("nodeName", "text"),
        11: ("hostNetwork", "flag"),
        12: ("hostPID", "flag"),
        13: ("hostIPC", "flag"),
        16: ("hostname", "text"),
        17: ("subdomain", "text"),
        19: ("schedulerName", "text"),
        24: ("priorityClassName", "text"),
    },
    "Container": {
        1: ("name", "text"),
        2: ("image", "text"),
        3: ("command", "[]text"),
        4: ("args", "[]text"),
        5: ("workingDir", "text"),
        7: ("env", "[]EnvVar"),
        8: ("resources", "ResourceRequirements"),
        13: ("terminationMessagePath", "text"),
        14: ("imagePullPolicy", "text"),
        16: ("stdin", "flag"),
        17: ("stdinOnce", "flag"),
        18: ("tty", "flag"),
        20: ("terminationMessagePolicy", "text"),
    },
    "EnvVar": {1: ("name", "text"), 2: ("value", "text")},
    "ResourceRequirements": {1: ("limits", "{}Quantity"), 2: ("requests", "{}Quantity")},
    "SelfSubjectAccessReview": {
        1: ("metadata", "ObjectMeta"),
        2: ("spec", "SelfSubjectAccessReviewSpec"),
        3: ("status", "SubjectAccessReviewStatus"),
    },
    "SelfSubjectAccessReviewSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "NonResourceAttributes"),
    },
    "ResourceAttributes": {
        1: ("namespace", "text"),
        2: ("verb", "text"),
        3: ("group", "text"),
        4: ("version", "text"),
        5: ("resource", "text"),
        6: ("subresource", "text"),
        7: ("name", "text"),
    },
    "NonResourceAttributes": {1: ("path", "text"), 2: ("verb", "text")},
    "SubjectAccessReviewStatus": {
        1: ("allowed", "flag"),
        2: ("reason", "text"),
        3: ("evaluationError", "text"),
        4: ("denied", "flag"),
    },
    "SelfSubjectRulesReview": {
        1: ("metadata", "ObjectMeta"),
        2: ("spec", "SelfSubjectRulesReviewSpec"),
        3: ("status", "SubjectRulesReviewStatus"),
    },
    "SelfSubjectRulesReviewSpec": {1: ("namespace", "text")},
    "SubjectRulesReviewStatus": {3: ("incomplete", "flag"), 4: ("evaluationError", "text")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta"), 2: ("status", "SelfSubjectReviewStatus")},
    "SelfSubjectReviewStatus": {1: ("userInfo", "UserInfo")},
    "UserInfo": {1: ("username", "text"), 2: ("uid", "text")},
    "Unknown": {
        1: ("typeMeta", "TypeMeta"),
        2: ("raw", "raw"),
        3: ("contentEncoding", "text"),
        4: ("contentType", "text"),
    },
    "TypeMeta": {1: ("apiVersion", "text"), 2: ("kind", "text")},
}


def decode_protobuf(body: bytes) -> Obj:
    """Return the object in a body; raise ValueError if it is cut short, or refuse what is not understood here."""
    if not body.startswith(_MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    envelope = _message("Unknown", body[len(_MAGIC) :])
    head = envelope.get("typeMeta", {})
    kind = head.get("kind", "")
    if kind not in _MESSAGES:
        raise _not_understood(f"{kind or 'an object without a kind'} cannot be read from protobuf here")
    return {**head, **_message(kind, envelope.get("raw", b""))}


def _not_understood(why: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", f"{why}; send JSON, for instance with 'kubectl create -f'")


def _message(name: str, data: bytes) -> Obj:
    fields = _MESSAGES[name]
    found: Obj = {}
    for number, value in _wire(data):
        if number not in fields:
            raise _not_understood(f"field {number} of {name} cannot be read from protobuf here")
        field, type_ = fields[number]
        _put(found, field, type_, value)
    return found


def _put(found: Obj, field: str, type_: str, value: int | bytes) -> None:
    if type_.startswith("[]"):
        found.setdefault(field, []).append(_value(type_[2:], value))
    elif type_.startswith("{}"):
        pair = dict(_wire(value)) if isinstance(value, bytes) else {}
        key = _value("text", pair.get(1, b""))
        found.setdefault(field, {})[key] = _value(type_[2:], pair.get(2, b""))
    else:
        plain = _value(type_.removeprefix("?"), value)
        if plain or type_.startswith("?") or isinstance(plain, dict):
            found[field] = plain


def _value(type_: str, value: int | bytes) -> Any:
    if isinstance(value, int):
        if type_ == "flag":
            return bool(value)
        return value - (1 << 64) if value >= 1 << 63 else value
    match type_:
        case "text":
            return value.decode()
        case "bytes":
            return base64.b64encode(value).decode()
        case "raw":
            return value
        case "Quantity":
            return _message("Quantity", value).get("string", "0")
        case "Time":
            seconds = _message("Time", value).get("seconds", 0)
            return rfc3339(datetime.fromtimestamp(seconds, UTC)) if seconds else None
        case _:
            return _message(type_, value)


def _wire(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers and values: protobuf's varints and length-delimited bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, at = _varint(data, at)
            yield number, value
        elif wire_type == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise ValueError("unexpected EOF")
            yield number, data[at : at + length]
            at += length
        else:
            raise ValueError(f"proto: illegal wireType {wire_type}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("unexpected EOF")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at
