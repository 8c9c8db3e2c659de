"""Random functions do the same after an extraction as before it."""

from __future__ import annotations

import ast
import re
import warnings
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.capabilities.violation_fix.refactoring.extraction import extract_function
from actors.capabilities.violation_fix.refactoring.outcomes import Refused
from tests.capabilities.violation_fix.random_functions import NAMES, Writer, observe

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


class CopyWriter(Writer):
    """Writes functions in which statements stand twice, under other names or with another value."""

    def statement(self, depth: int, nesting: int, *, in_loop: bool) -> None:
        begin = len(self.lines)
        super().statement(depth, nesting, in_loop=in_loop)
        if nesting > 1 or self.random.random() < 0.5:
            return
        written = self.lines[begin:]
        if any("def " in line for line in written):
            return
        others = dict(zip(NAMES, self.random.sample(NAMES, len(NAMES)), strict=True))
        if self.random.random() < 0.3:
            others = {name: name for name in NAMES}
        self.lines += [re.sub(r"\b[abcd]\b", lambda found: others[found[0]], line) for line in written]


def check(random: Random, writer: type[Writer] = Writer) -> int:
    """Extract some blocks of one random function; return how many were not refused, with copies how many had some."""
    source = writer(random).function()
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
            done += writer is Writer or result.source.count("_do_part(") > 2
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
    assert sum(check(Random(seed)) for seed in range(80)) > 200


@pytest.mark.long
def test_copies_that_call_an_extracted_block_do_what_they_did() -> None:
    assert sum(check(Random(seed), CopyWriter) for seed in range(80)) > 20


# In four parts, so that no one needs minutes of a loaded machine.
@pytest.mark.slow
@pytest.mark.parametrize("first", [400, 1800, 3200, 4600])
def test_more_thousands_of_extracted_blocks_do_what_they_did(first: int) -> None:
    assert sum(check(Random(seed)) for seed in range(first, first + 1400)) > 3750
