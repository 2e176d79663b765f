"""The orders in which unlike pods may come."""

from engine.pod_outlook.orders import MOST_ORDERS, possible_orders
from engine.pod_outlook.values import PodVerdict
from tests.support.pod_builders import node, pod
from tests.unit.engine.outlook.asking import ask, pod_set


def test_every_interleaving_is_followed_and_those_alike_keep_their_order() -> None:
    assert possible_orders(["ab", "x"]) == ([("a", "b", "x"), ("a", "x", "b"), ("x", "a", "b")], True)
    assert possible_orders(["abcd"]) == ([("a", "b", "c", "d")], True)
    assert possible_orders([]) == ([()], True)


def test_too_many_orders_are_said_not_to_be_all() -> None:
    orders, is_complete = possible_orders(["abcd", "wxyz"])
    assert not is_complete
    assert len(orders) <= MOST_ORDERS


def test_an_outlook_on_unlike_pods_that_may_come_in_many_orders_promises_nothing() -> None:
    objects = [node("n1", 24), *(pod(f"p{number}", 1, number, on="n1", started=number) for number in range(24))]
    sets = [pod_set("small", 1, 100), pod_set("large", 2, 100)]
    found = ask(objects, sets, [4, 4])
    assert found.verdict is PodVerdict.AMBIGUOUS
    assert found.message == "unlike pods may come in more orders than were followed"
    assert not found.promises
