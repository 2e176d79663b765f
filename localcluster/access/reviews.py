"""Questions about access that clients ask by creating an object that is never stored: reviews."""

from collections.abc import Callable
from dataclasses import dataclass

from config.api.meta import Obj
from localcluster.access.auth import ANY, DISCOVERY, SELF_REVIEWS, SERVER_AUDIENCE, Allow, Attributes, TokenUser, Users
from localcluster.kinds.api_errors import bad_request, invalid
from localcluster.kinds.structural import errors

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"


@dataclass(frozen=True, slots=True)
class Review:
    """One kind of question and how it is answered."""

    group: str
    kind: str
    plural: str
    answer: Callable[[Obj, TokenUser, Users], Obj]

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`; all reviews are v1."""
        return f"{self.group}/v1"


def answer_review(review: Review, body: Obj, user: TokenUser, users: Users) -> Obj:
    """Return the question with its status."""
    if body.get("kind", review.kind) != review.kind or body.get("apiVersion", review.api_version) != review.api_version:
        raise bad_request(f"the object provided is unrecognized (must be of type {review.kind})")
    spec = body.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request("json: cannot unmarshal spec")
    head = {"kind": review.kind, "apiVersion": review.api_version, "metadata": {}}
    return {**head, "spec": spec, "status": review.answer(spec, user, users)}


def _attributes(spec: Obj) -> Attributes:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise invalid("", AUTHORIZATION, "", [errors.invalid("spec.resourceAttributes", resource, why)])
    if path is not None:
        return Attributes(verb=path.get("verb", ""), path=path.get("path", ""))
    wanted: Obj = resource or {}
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{name: wanted.get(name, "") for name in names})


def _review_self(spec: Obj, user: TokenUser, _users: Users) -> Obj:
    return {"allowed": user.may(_attributes(spec))}


def _review_other(spec: Obj, _user: TokenUser, users: Users) -> Obj:
    wanted = _attributes(spec)
    if not spec.get("user") and not spec.get("groups"):
        why = "at least one of user or group must be specified"
        raise invalid("", AUTHORIZATION, "", [errors.invalid("spec.user", spec.get("user", ""), why)])
    other = users.by_name(spec.get("user", ""))
    return {"allowed": other is not None and other.may(wanted)}


def _review_rules(spec: Obj, user: TokenUser, _users: Users) -> Obj:
    namespace = spec.get("namespace")
    if not namespace:
        raise bad_request("no namespace on request")
    everything = Allow((ANY,), (ANY,), (ANY,), paths=(ANY,))
    rules = (everything,) if user.rules is None else (*user.rules, DISCOVERY, SELF_REVIEWS)
    here = [rule for rule in rules if not rule.namespaces or namespace in rule.namespaces]
    return {
        "resourceRules": [_resource_rule(rule) for rule in here if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in here if rule.paths
        ],
        "incomplete": False,
    }


def _resource_rule(rule: Allow) -> Obj:
    shown: Obj = {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
    if rule.names:
        shown["resourceNames"] = list(rule.names)
    return shown


def _review_token(spec: Obj, _user: TokenUser, users: Users) -> Obj:
    owner = users.by_token(spec.get("token", ""))
    if owner is None:
        return {"user": {}, "error": "invalid bearer token"}
    wanted = spec.get("audiences") or [SERVER_AUDIENCE]
    audiences = [each for each in wanted if each in owner.audiences]
    if not audiences:
        return {"user": {}, "error": f"token audiences {list(owner.audiences)} is invalid for the target audiences"}
    return {"authenticated": True, "user": owner.described(), "audiences": audiences}


def _review_identity(_spec: Obj, user: TokenUser, _users: Users) -> Obj:
    return {"userInfo": user.described()}


REVIEWS = (
    Review(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews", _review_self),
    Review(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews", _review_other),
    Review(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews", _review_rules),
    Review(AUTHENTICATION, "TokenReview", "tokenreviews", _review_token),
    Review(AUTHENTICATION, "SelfSubjectReview", "selfsubjectreviews", _review_identity),
)
