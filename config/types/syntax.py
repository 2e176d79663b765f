"""The shapes of names that Kubernetes prescribes, and of the paths and addresses that appear beside them."""

import difflib
import ipaddress
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

DNS_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN: Final = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
LABEL_VALUE: Final = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
CONFIG_KEY: Final = r"[-._a-zA-Z0-9]+"
MAX_PATH_LENGTH: Final = 4096

_LABEL_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
TOKEN: Final = re.compile(r"[\x21-\x7e]+")
"""A bearer token that an HTTP header can carry."""
UNSENDABLE: Final = "characters that an HTTP header cannot carry"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_LONGEST_TYPO: Final = 64


def is_dns_subdomain(text: str) -> bool:
    """Return whether `text` is an RFC 1123 name as Kubernetes defines it."""
    return len(text) <= 253 and re.fullmatch(DNS_SUBDOMAIN, text) is not None


def is_label_value(text: str) -> bool:
    """Return whether `text` may be the value of a label."""
    return len(text) <= 63 and re.fullmatch(LABEL_VALUE, text) is not None


def is_label_key(text: str) -> bool:
    """Return whether `text` may be the key of a label: a name, optionally with a DNS prefix."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= 63 and re.fullmatch(_LABEL_NAME, name) is not None


def is_host(text: str) -> bool:
    """Return whether `text` is an IP address or an RFC 1123 name, the two kinds of host that Kueue trusts."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return is_dns_subdomain(text.lower())
    return True


def is_absolute_path(text: str) -> bool:
    """Return whether `text` is an absolute path that never climbs."""
    is_clean = 1 < len(text) <= MAX_PATH_LENGTH and not _CONTROL.search(text)
    return is_clean and text.startswith("/") and ".." not in text.split("/")


def normal_proxy_url(text: str) -> str | None:
    """Return the one spelling of a proxy's URL by which two are compared, or None when it is not one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    has_more = parts.path not in {"", "/"} or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in {"http", "https"} or not parts.hostname or has_more or not is_host(parts.hostname):
        return None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or (443 if parts.scheme == 'https' else 80)}"


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that a typo most likely meant."""
    by_lower = {name.replace("_", "").lower(): name for name in known}
    typed = word[:_LONGEST_TYPO].replace("_", "").replace("-", "").lower()
    matches = difflib.get_close_matches(typed, by_lower, n=1, cutoff=0.6)
    return by_lower[matches[0]] if matches else None


def printable(text: str) -> str:
    """Write everything that could move a terminal's cursor, break a log line or hide in it as an escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def is_collector_url(text: str) -> bool:
    """Return whether a string is the plain URL of a place to send to."""
    try:
        url = urlsplit(text)
        has_place = bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        return False
    plain = not (url.username or url.password or url.query or url.fragment) and text.isprintable() and " " not in text
    return url.scheme in ("http", "https") and has_place and bool(url.path.strip("/")) and plain
