from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.citation_check import VerdictReason, check_citation, quote_occurs
from runtime.codebase.codebase import Codebase
from tests.runtime.codebase.cited import ranges_of, verify

ORDERS = "src/shop/orders.py"
PRODUCED = {ORDERS: [(5, 12), (20, 30)], "web/format.js": [(1, 3)]}


def reason(codebase: Codebase, **changes: object) -> VerdictReason:
    good = Citation(ORDERS, 6, 7, quote="from dataclasses import dataclass")
    return check_citation(codebase, msgspec.structs.replace(good, **changes), PRODUCED).reason


def test_a_citation_of_produced_lines_that_say_what_it_quotes_holds(codebase: Codebase) -> None:
    assert reason(codebase) is VerdictReason.VALID
    assert reason(codebase, content_sha256=codebase.sha256(ORDERS)) is VerdictReason.VALID
    assert reason(codebase, quote="from   dataclasses\n import dataclass ") is VerdictReason.VALID
    assert reason(codebase, quote="") is VerdictReason.VALID


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"file": "../orders.py"}, VerdictReason.PATH_DENIED),
        ({"file": "/etc/passwd"}, VerdictReason.PATH_DENIED),
        ({"file": ".git/config"}, VerdictReason.PATH_DENIED),
        ({"file": ".env"}, VerdictReason.PATH_DENIED),
        ({"file": "src/shop/nothing.py"}, VerdictReason.FILE_MISSING),
        ({"file": "src/shop"}, VerdictReason.FILE_MISSING),
        ({"file": "./" + ORDERS}, VerdictReason.NOT_PRODUCED),
        ({"file": "src/shop/payment.py"}, VerdictReason.NOT_PRODUCED),
        ({"start_line": 0}, VerdictReason.RANGE_INVALID),
        ({"start_line": 8}, VerdictReason.RANGE_INVALID),
        ({"start_line": -3, "end_line": -1}, VerdictReason.RANGE_INVALID),
        ({"end_line": 10_000}, VerdictReason.RANGE_INVALID),
        ({"content_sha256": "0" * 64}, VerdictReason.FILE_CHANGED),
        ({"quote": "import flask"}, VerdictReason.QUOTE_MISSING),
        ({"quote": "import math"}, VerdictReason.QUOTE_MISSING),
    ],
)
def test_a_citation_that_does_not_hold_says_why(
    codebase: Codebase, changes: dict[str, object], expected: VerdictReason
) -> None:
    assert reason(codebase, **changes) is expected


@pytest.mark.parametrize(
    ("start", "end", "holds"),
    [(5, 12, True), (4, 12, False), (5, 13, False), (6, 11, True), (12, 20, False), (20, 30, True), (20, 31, False)],
)
def test_a_range_must_lie_within_one_that_a_tool_produced(
    codebase: Codebase, start: int, end: int, holds: bool
) -> None:
    verdict = check_citation(codebase, Citation(ORDERS, start, end), PRODUCED)
    assert verdict.valid is holds
    assert holds or verdict.reason is VerdictReason.NOT_PRODUCED


def test_the_root_alone_is_enough_for_the_check(codebase: Codebase, shop: Path) -> None:
    citation = Citation("web/format.js", 2, 2, quote="return String(line)")
    assert check_citation(shop, citation, PRODUCED).valid
    assert not check_citation(shop, msgspec.structs.replace(citation, file="../x"), PRODUCED).valid
    assert not check_citation(shop, msgspec.structs.replace(citation, file="web/none.js"), PRODUCED).valid


def test_a_file_that_changed_since_it_was_read_is_noticed(codebase: Codebase, shop: Path) -> None:
    citation = Citation("web/format.js", 1, 1, content_sha256=codebase.sha256("web/format.js"))
    assert check_citation(codebase, citation, PRODUCED).valid
    (shop / "web/format.js").write_text("export function format(line) {\n  return line\n}\n")
    assert check_citation(codebase, citation, PRODUCED).reason is VerdictReason.FILE_CHANGED


def test_what_does_not_hold_is_dropped_and_counted(codebase: Codebase) -> None:
    good = Citation("web/format.js", 1, 3)
    bad = [Citation("web/format.js", 1, 9), Citation("nope.js", 1, 1), Citation("nix.js", 1, 1)]
    assert verify(codebase, [*bad, good], PRODUCED) == ([good], {"range_invalid": 1, "file_missing": 2})


def test_ranges_are_collected_from_results() -> None:
    results = [ToolResult("ok", citations=(Citation("a", 1, 2), Citation("b", 3, 3))), ToolResult("empty")]
    assert ranges_of([*results, results[0]]) == {"a": [(1, 2), (1, 2)], "b": [(3, 3), (3, 3)]}


LINES = [f"line {number} has word{number}" for number in range(1, 21)]


@pytest.fixture(scope="module")
def small_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small")
    (root / "a.txt").write_text("\n".join(LINES) + "\n")
    (root / "b.txt").write_text("other\n")
    (root.parent / "outside.txt").write_text("\n".join(LINES) + "\n")
    return root


ranges = st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda pair: (min(pair), max(pair)))


@given(
    produced=st.lists(ranges, max_size=4),
    start=st.integers(-3, 25),
    end=st.integers(-3, 25),
    file=st.sampled_from(["a.txt", "b.txt", "./a.txt", "../outside.txt", "x/../a.txt", "c.txt", "", ".", "a.txt "]),
    quoted=st.integers(1, 20),
)
def test_no_citation_outside_what_was_produced_passes(
    small_root: Path, produced: list[tuple[int, int]], start: int, end: int, file: str, quoted: int
) -> None:
    citation = Citation(file, start, end, quote=LINES[quoted - 1])
    verdict = check_citation(small_root, citation, {"a.txt": produced})
    inside = any(low <= start <= end <= high for low, high in produced)
    assert verdict.valid == (file == "a.txt" and inside and start <= quoted <= end)


@given(st.text(max_size=40), st.lists(st.text(alphabet="ab \t", max_size=6), max_size=6))
def test_a_quote_holds_exactly_when_its_words_stand_in_the_lines(quote: str, lines: list[str]) -> None:
    joined = " ".join("\n".join(lines).split())
    assert quote_occurs(quote, lines) == (" ".join(quote.split()) in joined)


@given(st.lists(ranges, min_size=1, max_size=4), st.data())
def test_every_part_of_a_produced_range_passes(
    small_root: Path, produced: list[tuple[int, int]], data: st.DataObject
) -> None:
    low, high = data.draw(st.sampled_from(produced))
    start = data.draw(st.integers(low, high))
    end = data.draw(st.integers(start, high))
    quote = data.draw(st.sampled_from(["", LINES[start - 1], LINES[end - 1]]))
    assert check_citation(small_root, Citation("a.txt", start, end, quote), {"a.txt": produced}).valid
