"""A value that lies inside a callable encloses nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.index.records import SymbolRecord, around
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, VALUE_KINDS

SPANS = st.tuples(st.sampled_from(["function", "variable", "class", "field"]), st.integers(1, 12), st.integers(0, 6))


@given(st.lists(SPANS, max_size=10))
def test_values_that_any_callable_encloses_are_dropped_and_nothing_else(spans: list[tuple[str, int, int]]) -> None:
    symbols = [
        SymbolRecord(number, "a.py", "x", "x", kind, start, start + more, start, "", "", None)
        for number, (kind, start, more) in enumerate(spans)
    ]
    bodies = [symbol for symbol in symbols if symbol.kind in CALLABLE_KINDS]
    assert around(symbols) == [
        symbol
        for symbol in symbols
        if symbol.kind not in VALUE_KINDS
        or not any(body.start_line <= symbol.start_line and symbol.end_line <= body.end_line for body in bodies)
    ]
