"""Service accounts as users: their tokens (TokenRequest), and what RBAC allows them.

A token is a signed JWT that ends with its time, its cluster, or its account: it names the UID, so that a new account of
the same name does not take it over.
"""

import base64
import hashlib
import hmac
import secrets
from datetime import timedelta
from typing import Any, Final

import orjson

from config.api.meta import Obj
from localcluster.access.auth import SERVER_AUDIENCE, TokenUser
from localcluster.access.rbac import granted_rules
from localcluster.kinds.api_errors import bad_request, invalid
from localcluster.kinds.clock import rfc3339
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors
from localcluster.store.ledger import Version
from localcluster.store.store import Store

API_VERSION: Final = "authentication.k8s.io/v1"
KIND: Final = "TokenRequest"
_COLLECTION: Final = "serviceaccounts/v1"
_DEFAULT_SECONDS: Final = 3600
_LEAST_SECONDS: Final = 600
_MOST_SECONDS: Final = 2**32
_HEADER: Final = {"alg": "HS256", "typ": "JWT"}


class ServiceAccounts:
    """The service accounts of one cluster."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._key = secrets.token_bytes(32)

    def issue_token(self, account: Version, request: Obj) -> Obj:
        """Return a TokenRequest with its answer, or refuse."""
        spec = request.get("spec") or {}
        if not isinstance(spec, dict) or request.get("kind", KIND) != KIND:
            raise bad_request(f"the object provided is unrecognized (must be of type {KIND})")
        name = account.key[1]
        if spec.get("boundObjectRef"):
            raise bad_request(f'cannot bind token for serviceaccount "{name}": local clusters do not bind tokens')
        asked = spec.get("expirationSeconds")
        seconds = _DEFAULT_SECONDS if asked is None else asked
        if problems := _problems(seconds):
            raise invalid(KIND, "authentication.k8s.io", "", problems)
        audiences = list(spec.get("audiences") or [SERVER_AUDIENCE])
        now = self._store.clock.now().replace(microsecond=0)
        expires = now + timedelta(seconds=seconds)
        claims = {
            "aud": audiences,
            "exp": int(expires.timestamp()),
            "iat": int(now.timestamp()),
            "iss": SERVER_AUDIENCE,
            "sub": _user_name(account),
            "kubernetes.io": {"namespace": account.key[0], "serviceaccount": {"name": name, "uid": _uid(account)}},
        }
        return {
            "kind": KIND,
            "apiVersion": API_VERSION,
            "metadata": {"name": name, "namespace": account.key[0], "creationTimestamp": rfc3339(now)},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": None},
            "status": {"token": self._sign(claims), "expirationTimestamp": rfc3339(expires)},
        }

    def by_token(self, token: str) -> TokenUser | None:
        """Return the account behind a token that is still good."""
        claims = self._verified(token)
        if claims is None or claims["exp"] <= self._store.clock.now().timestamp():
            return None
        named = claims["kubernetes.io"]
        account = self._find(named["namespace"], named["serviceaccount"]["name"])
        if account is None or _uid(account) != named["serviceaccount"]["uid"]:
            return None
        return self._user(account, token, tuple(claims["aud"]))

    def by_name(self, user: str) -> TokenUser | None:
        """Return the account with this user name."""
        match user.split(":"):
            case ["system", "serviceaccount", namespace, name]:
                account = self._find(namespace, name)
                return self._user(account, "", ()) if account is not None else None
        return None

    def _find(self, namespace: str, name: str) -> Version | None:
        collection = self._store.ledger.collections.get(_COLLECTION)
        return collection.get((namespace, name)) if collection is not None else None

    def _user(self, account: Version, token: str, audiences: tuple[str, ...]) -> TokenUser:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account.key[0]}")
        name = _user_name(account)
        rules = granted_rules(self._store, name, (*groups, "system:authenticated"))
        return TokenUser(name, token, groups, rules, audiences)

    def _sign(self, claims: Obj) -> str:
        signed = f"{_encoded(_HEADER)}.{_encoded(claims)}"
        return f"{signed}.{self._signature(signed)}"

    def _verified(self, token: str) -> Any:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(signed).encode(), signature.encode()):
            return None
        payload = signed.partition(".")[2]
        return orjson.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))

    def _signature(self, signed: str) -> str:
        return _base64(hmac.digest(self._key, signed.encode(), hashlib.sha256))


def _problems(seconds: Any) -> list[SchemaError]:
    field = "spec.expirationSeconds"
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        return [errors.type_invalid(field, seconds, "must be an integer")]
    if seconds < _LEAST_SECONDS:
        return [errors.invalid(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MOST_SECONDS:
        return [errors.invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _user_name(account: Version) -> str:
    return f"system:serviceaccount:{account.key[0]}:{account.key[1]}"


def _uid(account: Version) -> str:
    return str(account.obj["metadata"]["uid"])


def _encoded(value: Obj) -> str:
    return _base64(orjson.dumps(value))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
