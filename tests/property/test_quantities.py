"""Laws of quantities and amounts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.quantity import (
    MIN_AMOUNT,
    UNLIMITED,
    QuantityError,
    add,
    canonical_text,
    format_amount,
    parse_quantity,
    quota_amount,
    request_amount,
    sub,
)

amounts = st.integers(MIN_AMOUNT, UNLIMITED)
bounded = st.integers(MIN_AMOUNT, UNLIMITED - 1)
resources = st.sampled_from(["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "pods"])
suffixes = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3"])
written = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{fraction}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.one_of(st.just(""), st.integers(0, 10**12).map(lambda digits: f".{digits}")),
    suffixes,
)


@settings(deadline=None)
@given(resources, bounded)
def test_an_amount_survives_being_written_and_read(resource: str, amount: int) -> None:
    assert request_amount(resource, format_amount(resource, amount)) == amount


@settings(deadline=None)
@given(amounts, amounts)
def test_sums_stay_in_range_commute_and_absorb_unlimited(a: int, b: int) -> None:
    total = add(a, b)
    assert MIN_AMOUNT <= total <= UNLIMITED
    assert total == add(b, a)
    assert (total == UNLIMITED) or UNLIMITED not in (a, b)


@settings(deadline=None)
@given(st.integers(-(2**62), 2**62 - 1), st.integers(-(2**62), 2**62 - 1))
def test_arithmetic_is_exact_where_nothing_saturates(a: int, b: int) -> None:
    assert add(a, b) == a + b
    assert sub(a, b) == a - b
    assert sub(add(a, b), b) == a


@settings(deadline=None)
@given(amounts, amounts, amounts)
def test_adding_is_monotone(a: int, b: int, c: int) -> None:
    low, high = sorted((a, b))
    assert add(low, c) <= add(high, c)


@settings(deadline=None)
@given(resources, written)
def test_amounts_never_lie_below_the_quantity(resource: str, text: str) -> None:
    quantity = parse_quantity(text)
    amount = request_amount(resource, text)
    exact = quantity * 1000 if resource == "cpu" else quantity
    if amount not in (UNLIMITED, MIN_AMOUNT):
        assert abs(exact) <= abs(amount) < abs(exact) + 1
    assert quota_amount(resource, text) in (amount, UNLIMITED)


@settings(deadline=None)
@given(written)
def test_canonical_text_means_the_same_and_is_stable(text: str) -> None:
    quantity = parse_quantity(text)
    if abs(quantity) >= 10**21:
        return  # beyond the last suffix Kubernetes itself loses the exponent
    canonical = canonical_text(text)
    assert parse_quantity(canonical) == quantity
    assert canonical_text(canonical) == canonical


@settings(deadline=None)
@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_a_clear_error(text: str) -> None:
    try:
        outcome = str(parse_quantity(text) * 0)
    except QuantityError as error:
        outcome = str(error)
    assert outcome == "0" or "is not a quantity" in outcome
