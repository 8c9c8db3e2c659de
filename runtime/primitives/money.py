"""Counts amounts of money exactly, in whole millionths of a currency unit.

Which currency it is nobody here needs to know: prices and limits of one system are in the same one.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

MICRO = 1_000_000
MOST_UNITS = 1_000_000_000
DECIMALS = 6


def micro_of(amount: Decimal) -> int:
    """Return an amount in millionths; one with more than six decimals is rounded up."""
    return int((amount * MICRO).to_integral_value(ROUND_CEILING))


def money_of(micro: int) -> Decimal:
    """Return the amount of some millionths."""
    return Decimal(micro) / MICRO


def told_money(micro: int) -> str:
    """Return an amount as a plain decimal number without trailing zeros: `0.0125`."""
    whole, part = divmod(abs(micro), MICRO)
    digits = f"{part:06}".rstrip("0")
    return f"{'-' if micro < 0 else ''}{whole}{'.' if digits else ''}{digits}"
