"""Random functions do the same after an extraction as before it."""

from __future__ import annotations

import ast
import warnings
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refused
from tests.capabilities.violation_fix.random_functions import Writer, observe

TRIES = 6


def blocks_of(source: str) -> list[list[ast.stmt]]:
    function = next(
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and node.name == "target"
    )
    lists = (getattr(node, name, None) for node in ast.walk(function) for name in ("body", "orelse", "finalbody"))
    return [found for found in lists if isinstance(found, list) and found and isinstance(found[0], ast.stmt)]


def compiles(source: str) -> bool:
    try:
        compile(source, "<function>", "exec")
    except SyntaxError:
        return False
    return True


def check(random: Random) -> int:
    """Extract some blocks of one random function; return how many were not refused."""
    source = Writer(random).function()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        if not compiles(source):
            return 0
        expected: list[object] | None = None
        done = 0
        blocks = blocks_of(source)
        for _ in range(TRIES):
            block = random.choice(blocks)
            begin = random.randrange(len(block))
            end = min(len(block) - 1, begin + random.randint(0, 3))
            result = extract_function(source, block[begin].lineno, block[end].end_lineno or 0, "_do_part")
            if isinstance(result, Refused):
                continue
            done += 1
            expected = expected or observe(source)
            assert observe(result.source) == expected, f"{source}\n--- became\n{result.source}"
        return done


@pytest.mark.long
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**9))
def test_an_extracted_block_does_what_it_did(seed: int) -> None:
    check(Random(seed))


@pytest.mark.long
def test_a_thousand_extracted_blocks_do_what_they_did() -> None:
    assert sum(check(Random(seed)) for seed in range(400)) > 1000


# In four parts, so that no one needs minutes of a loaded machine.
@pytest.mark.slow
@pytest.mark.parametrize("first", [400, 1800, 3200, 4600])
def test_more_thousands_of_extracted_blocks_do_what_they_did(first: int) -> None:
    assert sum(check(Random(seed)) for seed in range(first, first + 1400)) > 3750
