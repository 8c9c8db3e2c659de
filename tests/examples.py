"""Marks examples of parametrized tests as long, so that `make test` runs a few of each and `make check` all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def long_but(examples: Sequence[Any], *kept: int) -> list[Any]:
    """Return the examples, all but those at the `kept` positions marked as long."""
    return [
        each if place in kept else pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.long)
        for place, each in enumerate(examples)
    ]
