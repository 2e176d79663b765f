"""Kubernetes quantities written in every way the API accepts.

Amounts are integers in the unit Kueue counts in: thousandths for cpu, ones for everything else.
"""

from tests.differential.dice import Dice

UNLIMITED = 2**63 - 1

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def spell(dice: Dice, resource: str, amount: int) -> str:
    """Return one of the spellings of the amount, mostly a plain one."""
    if amount >= UNLIMITED:
        return dice.choice(["9223372036854775807", "10E", "9300000000000000000", "16Ei"])
    if amount and dice.rarely(0.004):
        return _rounded_up(resource, amount)
    if resource == "cpu":
        return _spell_cpu(dice, amount)
    if dice.chance(0.7):
        return _plain(resource, amount)
    spellings = [str(amount), f"{amount}.0", f"{amount * 1000}m", f"{amount}e0"]
    spellings += [f"{amount // size}{suffix}" for suffix, size in _BINARY.items() if amount % size == 0]
    spellings += [f"{amount // size}{suffix}" for suffix, size in _DECIMAL.items() if amount % size == 0]
    return dice.choice(spellings)


def _rounded_up(resource: str, amount: int) -> str:
    """Return a fraction less than the amount, which Kueue rounds up to it."""
    return f"{amount * 10 - 5}e-4" if resource == "cpu" else f"{amount * 1000 - 1}m"


def _spell_cpu(dice: Dice, amount: int) -> str:
    plain = f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if dice.chance(0.7):
        return plain
    spellings = [plain, f"{amount}m", f"{amount * 1000}u", f"{amount / 1000:.3f}", f"{amount}e-3"]
    if amount % 1000 == 0:
        spellings += [f"{amount // 1000}.0", f"{amount // 1000}E0"]
    return dice.choice(spellings)


def _plain(resource: str, amount: int) -> str:
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        for suffix in ("Gi", "Mi", "Ki"):
            if amount and amount % _BINARY[suffix] == 0:
                return f"{amount // _BINARY[suffix]}{suffix}"
    return str(amount)
