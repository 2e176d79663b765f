"""Lists: which versions a list shows, at which revision, page by page.

A page is cut from the state at the revision of the first page as long as that is remembered; afterwards the client is
told so (410) and offered a token that goes on from the present state.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import orjson

from localcluster.kinds.api_errors import ApiError, bad_request, expired
from localcluster.serving.options import ListOptions
from localcluster.store.ledger import Collection, Key, Version
from localcluster.store.selectors import Selector

_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105 - a format's name
_INCONSISTENT = -1


@dataclass(frozen=True, slots=True)
class Page:
    """One answer to a list."""

    versions: list[Version]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    revision: int
    after: Key

    def encoded(self) -> str:
        body = {"v": _TOKEN_VERSION, "rv": self.revision, "start": "/".join(self.after) + "\0"}
        return base64.urlsafe_b64encode(orjson.dumps(body)).rstrip(b"=").decode()


def _parse_token(text: str) -> _Token:
    try:
        body = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if body["v"] != _TOKEN_VERSION:
            raise bad_request(f"continue key is not valid: server does not recognize this encoded version {body['v']}")
        namespace, _, name = body["start"].rstrip("\0").rpartition("/")
        return _Token(int(body["rv"]), (namespace, name))
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None


def parse_revision(text: str) -> int:
    """Return a resourceVersion as a number, or refuse."""
    if not text.isdecimal():
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: resourceVersion: {why}")
    return int(text)


def needed_revision(options: ListOptions) -> int:
    """Return the revision that the cluster must have reached before it may answer."""
    if options.continue_token or not options.resource_version:
        return 0
    return parse_revision(options.resource_version)


def read_page(collection: Collection, namespace: str | None, options: ListOptions, current: int) -> Page:
    """Return the page that the options ask for."""
    if options.continue_token:
        return _next_page(collection, namespace, options, current)
    revision = _exact_revision(options)
    if revision is None:
        return _cut(collection.scan(namespace), options, current, collection.count(namespace))
    if collection.forgotten > revision:
        raise expired("The resourceVersion for the provided list is too old.")
    versions = collection.as_of(revision, namespace)
    return _cut(versions, options, revision, len(versions))


def _exact_revision(options: ListOptions) -> int | None:
    """Return the revision to show, None for the present; a limited list of a given revision is exact by tradition."""
    if options.match == "Exact" or (options.limit and not options.match and options.resource_version not in ("", "0")):
        return parse_revision(options.resource_version)
    return None


def _next_page(collection: Collection, namespace: str | None, options: ListOptions, current: int) -> Page:
    if options.resource_version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    token = _parse_token(options.continue_token)
    if token.revision == _INCONSISTENT:
        rest = list(collection.scan(namespace, token.after))
        return _cut(rest, options, current, len(rest))
    if collection.forgotten > token.revision:
        raise _token_expired(token)
    if not collection.changes_since(token.revision):
        rest = list(collection.scan(namespace, token.after))
    else:
        rest = [each for each in collection.as_of(token.revision, namespace) if each.key > token.after]
    return _cut(rest, options, token.revision, len(rest))


def _token_expired(token: _Token) -> ApiError:
    fresh = _Token(_INCONSISTENT, token.after).encoded()
    return expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        {"continue": fresh},
    )


def _cut(versions: Iterable[Version], options: ListOptions, revision: int, total: int) -> Page:
    selector = options.selector
    matching = (each for each in versions if selector.matches(each.obj)) if selector else iter(versions)
    if not options.limit:
        return Page(list(matching), revision)
    shown = list(islice(matching, options.limit))
    if next(matching, None) is None:
        return Page(shown, revision)
    token = _Token(revision, shown[-1].key).encoded()
    return Page(shown, revision, token, None if selector else total - len(shown))


def matching_versions(collection: Collection, namespace: str | None, selector: Selector) -> list[Version]:
    """Return what exists now and matches."""
    name = selector.exact_name()
    if name is not None and namespace is not None:
        found = collection.get((namespace, name))
        return [found] if found is not None and selector.matches(found.obj) else []
    versions = collection.scan(namespace)
    return [each for each in versions if selector.matches(each.obj)] if selector else list(versions)
