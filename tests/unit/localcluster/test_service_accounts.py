"""Tokens of service accounts end with their time, and roles are read as they are now."""

from datetime import UTC, datetime

import pytest

from config.api.meta import Obj
from localcluster.access.auth import Attributes, TokenUser, Users
from localcluster.access.service_accounts import ServiceAccounts
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.api_errors import ApiError
from localcluster.kinds.clock import ManualClock
from localcluster.store.store import Store

RBAC = "rbac.authorization.k8s.io"
NAME = "system:serviceaccount:default:robot"
READ_JOBS = Attributes("get", "batch", "jobs", namespace="default", name="a")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture
def store(clock: ManualClock) -> Store:
    made = Store(all_kinds(), clock)
    made.create(made.kind("namespaces"), {"metadata": {"name": "default"}})
    made.create(made.kind("serviceaccounts"), {"metadata": {"name": "robot"}}, "default")
    return made


def create_role(store: Store, *rules: Obj) -> None:
    store.create(store.kind("clusterroles", RBAC), {"metadata": {"name": "r"}, "rules": list(rules)})


def bind_role(store: Store, subject: Obj) -> None:
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"}
    binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": role}
    store.create(store.kind("clusterrolebindings", RBAC), binding)


def token_of(store: Store, accounts: ServiceAccounts, **spec: object) -> str:
    account = store.version(store.kind("serviceaccounts"), ("default", "robot"))
    token: str = accounts.issue_token(account, {"spec": spec})["status"]["token"]
    return token


def test_a_token_ends_with_its_time(store: Store, clock: ManualClock) -> None:
    accounts = ServiceAccounts(store)
    users = Users((), accounts)
    header = f"Bearer {token_of(store, accounts, expirationSeconds=600)}"
    clock.advance(599)
    assert users.authenticate(header).name == NAME
    clock.advance(1)
    with pytest.raises(ApiError, match="Unauthorized"):
        users.authenticate(header)


def test_a_token_of_another_cluster_is_refused(store: Store) -> None:
    stranger = token_of(store, ServiceAccounts(store))
    with pytest.raises(ApiError, match="Unauthorized"):
        Users((), ServiceAccounts(store)).authenticate(f"Bearer {stranger}")


def test_a_token_bound_to_an_object_is_not_made(store: Store) -> None:
    with pytest.raises(ApiError, match="local clusters do not bind tokens"):
        token_of(store, ServiceAccounts(store), boundObjectRef={"kind": "Pod", "name": "p"})


@pytest.mark.parametrize(
    ("subject", "rule", "allowed"),
    [
        pytest.param(
            {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
            {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"]},
            True,
            id="the account itself",
        ),
        pytest.param(
            {"kind": "Group", "name": "system:serviceaccounts:default"},
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            True,
            id="all accounts of its namespace",
        ),
        pytest.param(
            {"kind": "User", "name": NAME},
            {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": ["b"]},
            False,
            id="another object",
        ),
        pytest.param(
            {"kind": "ServiceAccount", "name": "robot", "namespace": "other"},
            {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs"]},
            False,
            id="an account of another namespace",
        ),
        pytest.param(
            {"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
            {"verbs": ["get"], "apiGroups": ["batch"], "resources": ["jobs/status"]},
            False,
            id="a subresource alone",
        ),
    ],
)
def test_roles_decide(store: Store, subject: Obj, rule: Obj, *, allowed: bool) -> None:
    accounts = ServiceAccounts(store)
    assert not account(accounts).may(READ_JOBS)
    create_role(store, rule)
    bind_role(store, subject)
    assert account(accounts).may(READ_JOBS) is allowed


def account(accounts: ServiceAccounts) -> TokenUser:
    found = accounts.by_name(NAME)
    assert found is not None
    return found


def test_a_rule_for_a_subresource_of_everything(store: Store) -> None:
    create_role(store, {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*/status"]})
    bind_role(store, {"kind": "User", "name": NAME})
    user = account(ServiceAccounts(store))
    assert user.may(Attributes("get", "batch", "jobs", "status", "default", "a"))
    assert not user.may(READ_JOBS)
