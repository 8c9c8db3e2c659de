from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.locate import locate
from runtime.codebase.tools.module_map import map_module
from runtime.codebase.tools.read_code import read_code
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.sample_repository import write_files


def tried(result: ToolResult) -> list[tuple[str, str]]:
    return [(attempt.strategy, attempt.status) for attempt in result.attempts]


@pytest.fixture(
    params=[
        lambda codebase: locate(codebase, "Order"),
        lambda codebase: locate(codebase, "how is a payment refunded"),
        lambda codebase: explore_symbol_usage(codebase, "Order.total"),
        lambda codebase: map_module(codebase, "src/shop"),
        lambda codebase: map_module(codebase, "src/shop/orders.py"),
        lambda codebase: read_code(codebase, "src/shop/orders.py"),
        lambda codebase: read_code(codebase, symbol="pay_order"),
    ],
    ids=["locate name", "locate words", "usage", "map folder", "map file", "read path", "read symbol"],
)
def call(request: pytest.FixtureRequest) -> Callable[[Codebase], ToolResult]:
    found: Callable[[Codebase], ToolResult] = request.param
    return found


def test_every_citation_of_a_tool_passes_the_evidence_check(
    codebase: Codebase, call: Callable[[Codebase], ToolResult]
) -> None:
    result = call(codebase)
    assert result.status == "ok"
    assert result.citations
    assert verify(codebase, result.citations, ranges_of([result])) == (list(result.citations), {})
    for citation in result.citations:
        lines = codebase.read_lines(citation.file, citation.start_line, citation.end_line)
        assert 0 < len(citation.quote) <= 300
        assert any(citation.quote in line for line in lines)
        assert citation.content_sha256 == codebase.sha256(citation.file)
        assert citation.why


def test_the_same_call_gives_the_same_result(codebase: Codebase, call: Callable[[Codebase], ToolResult]) -> None:
    first, second = call(codebase), call(codebase)
    assert (first.data, first.citations, first.status) == (second.data, second.citations, second.status)
    assert tried(first) == tried(second)


def test_locate_finds_a_definition_by_name_first(codebase: Codebase) -> None:
    result = locate(codebase, "PaymentGateway")
    row, citation = result.data["results"][0], result.citations[0]
    assert (row["file"], row["symbol"], row["kind"], row["source"]) == (
        "src/shop/payment.py",
        "PaymentGateway",
        "class",
        "symbol",
    )
    assert row["docstring"] == "Talks to the bank."
    assert (citation.file, citation.quote) == ("src/shop/payment.py", "class PaymentGateway:")
    assert len(result.data["results"]) == len(result.citations)


def test_locate_answers_a_question_in_words_by_ranked_pieces(codebase: Codebase) -> None:
    result = locate(codebase, "how do customers get money back")
    assert result.citations[0].symbol == "PaymentGateway.refund_payment"
    assert "customer" in result.citations[0].quote
    assert tried(result) == [("ranked_chunks", "ok")]


def test_locate_broadens_an_empty_search_and_then_moves_up_from_its_scope(codebase: Codebase) -> None:
    partial = locate(codebase, "refund_pay")
    assert partial.citations[0].symbol == "PaymentGateway.refund_payment"
    shouted = locate(codebase, "HANGS UP!")
    assert shouted.status == "ok"
    moved = locate(codebase, "PaymentGateway", scope="src/shop/missing")
    assert tried(moved) == [
        ("symbol_index", "empty"),
        ("text", "empty"),
        ("ranked_chunks", "empty"),
        ("broadened", "empty"),
        ("parent:src/shop", "ok"),
    ]
    assert moved.data["scope"] == "src/shop"


def test_locate_gives_up_after_two_retries(codebase: Codebase) -> None:
    result = locate(codebase, "zzqxw", scope="src/shop")
    assert result.status == "empty"
    assert [name for name, _ in tried(result)][-2:] == ["broadened", "parent:src"]


def test_locate_keeps_to_kinds_and_scope(codebase: Codebase) -> None:
    classes = locate(codebase, "order payment", kinds=["class"])
    assert {row["kind"] for row in classes.data["results"]} == {"class"}
    scoped = locate(codebase, "Order", scope="tests")
    assert {citation.file for citation in scoped.citations} == {"tests/test_orders.py"}
    assert locate(codebase, "Order", scope="../..").status == "denied"


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (0, 1)])
def test_locate_returns_no_more_than_asked(codebase: Codebase, limit: int, count: int) -> None:
    assert len(locate(codebase, "order", max_results=limit).citations) == count


def test_usage_tells_definition_callers_importers_tests_and_callees(codebase: Codebase) -> None:
    result = explore_symbol_usage(codebase, "Order.total")
    data = result.data
    assert data["definitions"][0]["symbol"] == "Order.total"
    assert [(row["file"], row["enclosing"]) for row in data["callers"]] == [("src/shop/orders.py", "pay_order")]
    assert {row["file"] for row in data["tests"]} == {"tests/test_orders.py"}
    assert {row["file"] for row in data["importers"]} == {
        "src/shop/__init__.py",
        "src/shop/cli.py",
        "tests/test_orders.py",
    }
    assert [(row["name"], row["symbol"]) for row in data["callees"]] == [("rounded", "Order.rounded")]
    caller = data["callers"][0]
    assert result.citations[caller["citation"]].start_line == caller["line"]
    assert caller["text"] == "amount = order.total()"


def test_usage_of_a_field_that_no_grammar_defines_gives_the_lines_that_assign_it_before_any_name_like_it(
    tmp_path: Path,
) -> None:
    text = "class Till {\n  sell() {\n    return this.depth;\n  }\n  open() {\n    this.depth = 1;\n  }\n}\n"
    (tmp_path / "till.js").write_text(text + "\nfunction depthOf(till) {\n  return 2;\n}\n")
    refresh(tmp_path, tmp_path / "index.sqlite")
    opened = Codebase.open(tmp_path, tmp_path / "index.sqlite")
    result = explore_symbol_usage(opened, "depth")
    opened.close()
    assert [(row["line"], row["enclosing"]) for row in result.data["references"]] == [
        (6, "Till.open"),
        (3, "Till.sell"),
    ]
    assert result.status == "partial"


TILL = """class Till:
    def __init__(self, depth: int = 3) -> None:
        \"\"\"A till.

        :param depth: how deep it is.
        \"\"\"
        self.depth = depth

    def sell(self) -> int:
        return self.depth


class Shelf:
    def __init__(self, depth: int = 9) -> None:
        self.height = depth
"""


@pytest.fixture
def till(tmp_path: Path) -> Iterator[Codebase]:
    (tmp_path / "till.py").write_text(TILL)
    refresh(tmp_path, tmp_path / "index.sqlite")
    opened = Codebase.open(tmp_path, tmp_path / "index.sqlite")
    yield opened
    opened.close()


def test_usage_of_an_instance_attribute_has_its_definition_its_uses_and_the_defaults_of_its_class(
    till: Codebase,
) -> None:
    result = explore_symbol_usage(till, "depth")
    assert [(row["symbol"], row["kind"], row["start_line"]) for row in result.data["definitions"]] == [
        ("Till.depth", "attribute", 7)
    ]
    assert [(row["line"], row["enclosing"]) for row in result.data["references"]] == [
        (10, "Till.sell"),
        (2, "Till.__init__"),
    ]
    assert result.status == "ok"


def test_an_instance_attribute_encloses_nothing_and_is_told_of_its_class_alone(till: Codebase) -> None:
    found = till.symbol_at("till.py", 7)
    assert found is not None
    assert found.qualified_name == "Till.__init__"
    of_file = [row["symbol"] for row in map_module(till, "till.py").data["files"][0]["symbols"]]
    assert of_file == ["Till", "Till.__init__", "Till.sell", "Shelf", "Shelf.__init__"]
    of_class = [row["symbol"] for row in map_module(till, "till.py", symbol="Till").data["files"][0]["symbols"]]
    assert of_class == ["Till", "Till.__init__", "Till.depth", "Till.sell"]


def test_usage_of_a_name_that_nobody_defines_tries_parts_then_imports(codebase: Codebase) -> None:
    partial = explore_symbol_usage(codebase, "refund_pay")
    assert partial.status == "partial"
    assert tried(partial)[:2] == [("symbol_index", "not_found"), ("lines_or_partial_symbol", "ok")]
    foreign = explore_symbol_usage(codebase, "ceil")
    assert foreign.status == "partial"
    assert tried(foreign)[-1] == ("imports_and_text", "ok")
    assert foreign.data["references"][0]["file"] == "src/shop/orders.py"
    assert explore_symbol_usage(codebase, "zzqxw").status == "not_found"
    assert explore_symbol_usage(codebase, " ").status == "error"


@pytest.mark.parametrize(("limit", "truncated"), [(2, True), (3, False), (4, False)])
def test_usage_says_when_rows_were_left_out(codebase: Codebase, limit: int, truncated: bool) -> None:
    result = explore_symbol_usage(codebase, "Order", max_results=limit)
    assert len(result.data["importers"]) == min(limit, 3)
    assert result.truncated is truncated


def test_a_map_shows_tree_symbols_imports_and_importers(codebase: Codebase) -> None:
    result = map_module(codebase, "src/shop")
    data = result.data
    assert data["kind"] == "folder"
    assert data["tree"][0] == "__init__.py (3 lines)"
    orders = next(row for row in data["files"] if row["file"] == "src/shop/orders.py")
    assert orders["docstring"] == "Orders and their totals."
    assert [row["symbol"] for row in orders["symbols"]] == ["Order", "Order.total", "Order.rounded", "pay_order"]
    assert {"module": "math", "target": None, "files": 1} in data["imports"]
    assert [row["file"] for row in data["importers"]] == ["tests/test_orders.py"]


def test_a_map_cites_the_lines_in_which_a_file_says_what_it_is(codebase: Codebase) -> None:
    result = map_module(codebase, "src/shop")
    orders = next(row for row in result.data["files"] if row["file"] == "src/shop/orders.py")
    cited = result.citations[orders["docstring_citation"]]
    assert (cited.file, cited.start_line, cited.end_line) == ("src/shop/orders.py", 1, 1)
    assert "Orders and their totals." in cited.quote


def test_a_map_of_a_folder_with_a_link_that_leads_outside_is_the_map_of_the_rest(
    root: Path, tmp_path: Path, opened: Callable[[Path], Codebase]
) -> None:
    (root / "a.py").write_text("import os\n")
    (tmp_path / "out.py").write_text("SECRET_OUTSIDE = 1\n")
    (root / "link.py").symlink_to(tmp_path / "out.py")
    found = map_module(opened(root))
    assert found.status == "ok"
    assert found.data["tree"] == ["a.py (1 lines)", "link.py (symlink_outside)"]
    assert [row["module"] for row in found.data["imports"]] == ["os"]


def test_a_map_goes_no_deeper_than_asked_and_says_so(codebase: Codebase) -> None:
    shallow = map_module(codebase, ".", max_depth=1)
    assert "src/ (4 files)" in shallow.data["tree"]
    assert not any("orders.py" in line for line in shallow.data["tree"])
    assert shallow.truncated
    assert not map_module(codebase, ".", max_depth=3).truncated


def test_a_map_shows_the_heaviest_files_first_and_counts_what_it_leaves_out(
    root: Path, opened: Callable[[Path], Codebase]
) -> None:
    small = {f"pkg/a{number:02}.py": "X = 1\n" for number in range(31)}
    large = "def open_only(one):\n    return one\n\n\n" + "class Wire:\n" + "    size = 1\n" * 60
    methods = "".join(f"    def get{number}(self):\n        return {number}\n" for number in range(20))
    write_files(root, {**small, "pkg/wire.py": f"{large}{methods}", "pkg/user.py": "from pkg.wire import Wire\n"})
    data = map_module(opened(root), "pkg").data
    assert data["files"][0]["file"] == "pkg/wire.py"
    assert data["tree"][0].startswith("wire.py (")
    assert (data["more_files"], "more_tree_lines" in data) == (3, False)
    assert data["files"][0]["symbols"][0]["symbol"] == "Wire"
    assert "open_only" in [row["symbol"] for row in data["files"][0]["symbols"]]
    assert data["files"][0]["more_symbols"] == 18


@pytest.mark.parametrize("path", ["shop.orders", "orders.py", "src/shop/order.py"])
def test_a_map_of_a_near_miss_is_the_map_of_what_was_meant(codebase: Codebase, path: str) -> None:
    result = map_module(codebase, path)
    assert result.data["path"] == "src/shop/orders.py"
    assert tried(result) == [("path", "not_found"), ("fuzzy_path", "ok")]


def test_a_map_of_a_type_tells_it_and_its_members_alone(codebase: Codebase) -> None:
    (file,) = map_module(codebase, "src/shop/orders.py", symbol="Order").data["files"]
    assert [row["symbol"] for row in file["symbols"]] == ["Order", "Order.cents", "Order.total", "Order.rounded"]
    missing = map_module(codebase, "src/shop/orders.py", symbol="Ord")
    assert (missing.status, missing.error) == ("not_found", "no symbol Ord in src/shop/orders.py")


def test_a_map_of_nothing_and_of_a_place_outside_are_refused(codebase: Codebase) -> None:
    assert map_module(codebase, "zzqxw").status == "not_found"
    assert map_module(codebase, "..").status == "denied"


def test_reading_gives_the_lines_asked_for(codebase: Codebase) -> None:
    result = read_code(codebase, "web/format.js", start_line=2, end_line=2)
    assert (result.status, result.data["text"]) == ("ok", "  return String(line)")
    assert (result.data["start_line"], result.data["end_line"], result.data["total_lines"]) == (2, 2, 3)
    assert result.citations[0].mark == "[web/format.js:2]"


@pytest.mark.parametrize(("limit", "status", "last"), [(2, "partial", 2), (3, "ok", 3), (4, "ok", 3)])
def test_reading_more_than_the_limit_is_cut_and_flagged(codebase: Codebase, limit: int, status: str, last: int) -> None:
    result = read_code(codebase, "web/format.js", max_lines=limit)
    assert (result.status, result.truncated, result.data["end_line"]) == (status, status == "partial", last)


@pytest.mark.parametrize(
    ("limit", "around", "lines"),
    [
        (3, 6, (5, 7)),
        (3, 1, (1, 3)),
        (3, 10, (8, 10)),
        (4, 9, (7, 10)),
        (9, 10, (2, 10)),
        (10, 10, (1, 10)),
        (11, 10, (1, 10)),
        (3, 11, (1, 3)),
        (3, None, (1, 3)),
    ],
)
def test_of_more_lines_than_the_limit_those_around_a_line_are_read(
    root: Path, opened: Callable[[Path], Codebase], limit: int, around: int | None, lines: tuple[int, int]
) -> None:
    write_files(root, {"a.py": "def f():\n" + "".join(f"    x{number} = 1\n" for number in range(2, 11))})
    for path, symbol in (("a.py", None), (None, "f")):
        result = read_code(opened(root), path, symbol, max_lines=limit, around=around)
        assert (result.data["start_line"], result.data["end_line"]) == lines
        assert result.truncated is (lines != (1, 10))


def test_a_line_of_a_million_characters_is_cut(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, {"a.py": "x = '" + "y" * 900_000 + "'\n"})
    result = read_code(opened(root), "a.py")
    assert result.truncated
    assert len(result.data["text"]) == 2000
    assert len(result.citations[0].quote) == 300


def test_a_path_that_misses_is_looked_for_by_likeness_then_by_name(codebase: Codebase) -> None:
    like = read_code(codebase, "shop/orders.py")
    assert (like.data["file"], tried(like)) == ("src/shop/orders.py", [("path", "not_found"), ("fuzzy_path", "ok")])
    typo = read_code(codebase, "src/shop/ordres.py")
    assert typo.data["file"] == "src/shop/orders.py"
    named = read_code(codebase, "quite/another/place/orders.ts")
    assert named.data["file"] == "src/shop/orders.py"
    assert tried(named)[-1] == ("index_by_name", "ok")
    missing = read_code(codebase, "zzqxw.py")
    assert (missing.status, len(missing.attempts)) == ("not_found", 3)


def test_a_symbol_is_read_whole_and_a_part_of_its_name_is_enough(codebase: Codebase) -> None:
    whole = read_code(codebase, symbol="Order.total")
    assert whole.data["text"].startswith("    def total(")
    assert whole.citations[0].quote.startswith("def total(")
    assert read_code(codebase, symbol="refund_pay").data["symbol"] == "PaymentGateway.refund_payment"
    assert read_code(codebase, symbol="Order", path="src/shop/orders.py").data["file"] == "src/shop/orders.py"
    assert read_code(codebase, symbol="zzqxw").status == "not_found"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ({}, "error"),
        ({"path": "../secret"}, "denied"),
        ({"path": ".env"}, "denied"),
        ({"path": "b.bin"}, "unsupported"),
        ({"path": "web/format.js", "start_line": 4}, "not_found"),
        ({"path": "web/format.js", "start_line": 3, "end_line": 2}, "not_found"),
        ({"path": "none.py"}, "empty"),
    ],
)
def test_what_cannot_be_read_is_a_status_and_not_an_exception(
    codebase: Codebase, shop: Path, arguments: dict[str, object], status: str
) -> None:
    (shop / "b.bin").write_bytes(b"\0")
    (shop / ".env").write_text("K=1\n")
    (shop / "none.py").write_text("")
    result = read_code(codebase, **arguments)  # type: ignore[arg-type]
    assert (result.status, result.citations) == (status, ())
    assert result.error


def test_files_that_went_away_after_the_index_was_made_are_left_out(codebase: Codebase, shop: Path) -> None:
    (shop / "src/shop/payment.py").unlink()
    result = locate(codebase, "PaymentGateway")
    assert "src/shop/payment.py" not in {citation.file for citation in result.citations}
    assert verify(codebase, result.citations, ranges_of([result]))[1] == {}
    (shop / "src/shop/orders.py").write_text("x = 1\n")
    changed = explore_symbol_usage(codebase, "pay_order")
    assert verify(codebase, changed.citations, ranges_of([changed]))[1] == {}


odd_text = st.one_of(
    st.text(max_size=30),
    st.text(alphabet=st.characters(), max_size=10),
    st.lists(
        st.sampled_from([*"\"'()*?[]{}\\/.:;%_ ", "..", "Order", "total", "AND", "\ud800", "\0", "\n"]), max_size=8
    ).map("".join),
)


@given(text=odd_text, line=st.one_of(st.none(), st.integers(-5, 500)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_argument_makes_a_tool_raise_or_cite_what_does_not_hold(
    codebase: Codebase, text: str, line: int | None
) -> None:
    results = [
        locate(codebase, text),
        locate(codebase, "Order", scope=text),
        explore_symbol_usage(codebase, text),
        map_module(codebase, text),
        read_code(codebase, path=text, start_line=line),
        read_code(codebase, symbol=text, end_line=line),
    ]
    for result in results:
        assert verify(codebase, result.citations, ranges_of([result]))[1] == {}
        assert result.usable or result.citations == ()
