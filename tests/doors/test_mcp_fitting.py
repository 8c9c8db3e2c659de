"""What fits an answer of the MCP door: rows, cuts and the words that say how to get more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.tools.result import Attempt, ToolResult
from serve.mcp.ask.tool import answer_of_document
from serve.mcp.changes.impact import within
from serve.mcp.search.answers import JOINED_TOKENS, MAX_ERROR_CHARS, answer_of, joined, refusal, room_of
from serve.mcp.search.fitting import compact, fitted, size_tokens
from serve.mcp.search.plain_text import as_text, place_of
from serve.mcp.toolset import ShownLines, ToolAnswer


def rows(count: int) -> list[dict[str, Any]]:
    return [{"file": f"pkg/m{n}.py", "start_line": n + 1, "end_line": n + 9, "symbol": f"f{n}"} for n in range(count)]


def read(lines: int, start_line: int = 1, **more: Any) -> ToolResult:
    text = "\n".join(f"value_{number} = {number}" for number in range(start_line, start_line + lines))
    end_line = start_line + lines - 1
    data = {"file": "a.py", "start_line": start_line, "end_line": end_line, "total_lines": 900, "text": text}
    return ToolResult("ok", data, **more)


def whole_size(answer: ToolAnswer) -> int:
    return size_tokens(answer.text) + size_tokens(json.dumps(answer.data, ensure_ascii=False))


def test_all_rows_are_shown_where_they_fit() -> None:
    text, data = fitted({"results": rows(3)}, 4_000)
    assert len(data["results"]) == 3
    assert "cut" not in data
    assert "results (3):\npkg/m0.py:1-9 f0\n" in text


def test_what_does_not_fit_is_cut_from_the_end_and_counted() -> None:
    answer = answer_of("locate", ToolResult("ok", {"results": rows(500)}), {}, 2_000)
    shown = answer.data["results"]
    assert 0 < len(shown) < 500
    assert shown == rows(500)[: len(shown)]
    assert answer.data["cut"]["results"] == f"{len(shown)} of 500"
    assert f"results ({len(shown)} of 500):" in answer.text
    assert "max_tokens" in answer.text.splitlines()[-1]


@pytest.mark.parametrize("max_tokens", [4_000, 500])
def test_a_list_of_which_no_further_rows_were_looked_for_says_so(max_tokens: int) -> None:
    found = {"callers": rows(20), "importers": rows(20), "has_more": ["importers"]}
    answer = answer_of("find_references", ToolResult("partial", found, truncated=True), {}, max_tokens)
    kept = {key: len(answer.data[key]) for key in ("callers", "importers")}
    assert answer.data["cut"]["importers"] == f"{kept['importers']} of more than 20"
    assert answer.data["cut"].get("callers") == (None if kept["callers"] == 20 else f"{kept['callers']} of 20")
    assert "has_more" not in answer.data
    assert f"importers ({kept['importers']} of more than 20):" in answer.text


def test_documentation_goes_before_members_and_members_before_rows() -> None:
    members = [{**row, "docstring": "Tells what it does. " * 5} for row in rows(20)]
    data = {"files": [{"file": f"{n}.py", "docstring": "Holds things. " * 9, "symbols": members} for n in range(30)]}
    shown = [fitted(data, budget)[1] for budget in (100_000, 30_000, 6_000, 500)]
    assert [len(each["files"]) for each in shown][:3] == [30, 30, 30]
    assert len(shown[3]["files"]) < 30
    assert "cut" not in shown[0]
    assert "docstring" not in shown[1]["files"][0]
    assert len(shown[1]["files"][0]["symbols"]) == 20
    assert len(shown[2]["files"][0]["symbols"]) < 20
    assert [each["cut"]["details"] for each in shown[1:3]] == [
        "documentation left out",
        "documentation and members left out",
    ]


def test_rows_of_one_file_do_not_name_it_again_and_still_count_as_shown() -> None:
    found = ToolResult("ok", {"file": "a.py", "symbols": [{"file": "a.py", "start_line": 3, "symbol": "f"}]})
    answer = answer_of("get_file_symbols", found, {}, 4_000)
    assert answer.text == "file: a.py\n\nsymbols (1):\n3 f"
    assert answer.shown == (ShownLines("a.py", 3, 3),)


@pytest.mark.long
@pytest.mark.parametrize("budget", [500, 501, 1_000, 4_000, 50_000])
def test_text_and_data_together_stay_within_the_budget(budget: int) -> None:
    lists: dict[str, Any] = {f"list_{number}": rows(1_000) for number in range(12)}
    data = {"query": "x" * 3_000, **lists, "diff": "line of a diff\n" * 5_000}
    assert whole_size(answer_of("locate", ToolResult("ok", data), {}, budget)) <= budget


@pytest.mark.parametrize("budget", [500, 4_000])
def test_lines_that_are_read_stay_within_the_budget(budget: int) -> None:
    answer = answer_of("read_code", read(800), {}, budget)
    assert whole_size(answer) <= budget
    last = answer.data["end_line"]
    assert f"start_line={last + 1}" in answer.data["cut"]
    assert answer.data["text"].count("\n") == last - 1
    assert answer.shown == (ShownLines("a.py", 1, last),)


def test_lines_are_shown_with_their_numbers() -> None:
    answer = answer_of("read_code", read(2, start_line=41), {}, 4_000)
    assert answer.text == "a.py:41-42 of 900 lines\n   41  value_41 = 41\n   42  value_42 = 42"
    assert "cut" not in answer.data


def test_a_tool_that_found_more_says_which_argument_brings_it() -> None:
    answer = answer_of("locate", ToolResult("ok", {"results": rows(5)}, truncated=True), {"max_results": 5}, 4_000)
    assert answer.data["note"] == "there are more: ask with max_results above 5"
    assert answer.data["note"] in answer.text


@pytest.mark.parametrize("status", ["not_found", "empty"])
def test_nothing_found_is_an_answer_that_says_what_to_try(status: Any) -> None:
    answer = answer_of("find_symbol", ToolResult(status, error="nothing in the repository is named x"), {}, 4_000)
    assert not answer.is_error
    assert answer.text == "nothing in the repository is named x; try a part of the name, or describe it to locate"


@pytest.mark.parametrize("status", ["error", "denied", "timeout", "unsupported"])
def test_a_call_that_cannot_be_served_is_an_error_with_its_reason(status: Any) -> None:
    answer = answer_of("read_code", ToolResult(status, error="../x is outside of the repository"), {}, 4_000)
    assert answer.is_error
    assert answer.text.startswith("../x is outside of the repository")


def test_a_refusal_never_repeats_all_of_a_long_argument() -> None:
    assert len(refusal("x" * 100_000).text) == MAX_ERROR_CHARS + 1


def test_fields_that_serve_this_program_alone_are_left_out() -> None:
    row = {"file": "a.py", "line": 3, "citation": 0, "score": 0.5, "ranker": "words", "proof": [], "kind": None}
    assert compact({"hits": [row], "definitions": 0, "clean": True}) == {
        "hits": [{"file": "a.py", "line": 3}],
        "definitions": 0,
        "clean": True,
    }


def test_a_proof_is_told_as_the_lines_that_prove() -> None:
    steps = [{"kind": "import", "file": "a.py", "line": 1}, {"kind": "scope", "file": "b.py", "line": 7}]
    assert compact({"proof": steps}) == {"proof": ["import a.py:1", "scope b.py:7"]}


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ({"file": "a.py"}, "a.py"),
        ({"file": "a.py", "line": 3}, "a.py:3"),
        ({"file": "a.py", "start_line": 3, "end_line": 3}, "a.py:3"),
        ({"file": "a.py", "start_line": 3, "end_line": 9}, "a.py:3-9"),
        # A call stands in another file than the definition that it means.
        ({"file": "a.py", "start_line": 3, "end_line": 9, "line": 77}, "a.py:3-9"),
        ({"symbol": "f"}, ""),
        ({"symbol": "f", "start_line": 3, "end_line": 9}, "3-9"),
    ],
)
def test_a_row_begins_with_its_place(row: dict[str, Any], place: str) -> None:
    assert place_of(row) == place


def test_the_line_of_a_call_is_not_taken_for_a_line_of_the_definition() -> None:
    step = {"file": "b.py", "start_line": 3, "end_line": 9, "symbol": "f", "line": 77}
    assert as_text({"steps": [step]}) == "steps (1):\nb.py:3-9 f called at line 77"


def test_shown_lines_are_those_whose_text_is_there() -> None:
    excerpt = {"shown_start": 4, "shown_end": 6, "text": "a\nb\nc", "quotes": ["b"], "share": 1.0}
    found = ToolResult(
        "ok", {"results": [{**rows(1)[0], "excerpt": excerpt}, {"file": "b.py", "line": 8, "text": "x"}]}
    )
    answer = answer_of("locate", found, {}, 4_000)
    assert answer.shown == (ShownLines("pkg/m0.py", 4, 6), ShownLines("b.py", 8, 8))
    assert "      5  b\n" in answer.text


DOCUMENT: dict[str, Any] = {
    "run_id": "r-1",
    "answer": "It is bounded. [a.py:3-4]",
    "citations": [{"file": "a.py", "start_line": 3, "end_line": 4, "quote": "x", "symbol": "f"}],
    "terminal_reason": "completed",
    "status": "answered",
    "confidence": 0.8,
    "partial": False,
    "open_goals": ["Find its tests"],
}


def test_the_answer_of_a_question_names_its_places_and_what_was_not_found() -> None:
    answer = answer_of_document(DOCUMENT, 4_000)
    assert answer.text.startswith("It is bounded. [a.py:3-4]\n\nstatus: answered\nconfidence: 0.8")
    assert "not found: Find its tests" in answer.text
    assert answer.data["citations"] == [{"file": "a.py", "start_line": 3, "end_line": 4, "symbol": "f"}]
    assert answer.shown == (ShownLines("a.py", 3, 3),)
    assert not answer.is_error


def test_a_run_that_failed_without_evidence_is_an_error() -> None:
    answer = answer_of_document({**DOCUMENT, "terminal_reason": "stage_failed", "citations": []}, 4_000)
    assert answer.is_error


@pytest.mark.parametrize("budget", [500, 4_000])
def test_a_long_answer_is_cut_and_says_so(budget: int) -> None:
    long = {**DOCUMENT, "answer": "One more line.\n" * 2_000, "citations": DOCUMENT["citations"] * 400}
    answer = answer_of_document(long, budget)
    assert whole_size(answer) <= budget
    assert "max_tokens" in answer.text


def test_several_searches_are_one_answer_and_fail_only_together() -> None:
    good, bad = ToolAnswer("two hits", {"hits": 2}), refusal("no regular expression")
    both = joined({"a+": good, "(": bad})
    assert both.text == "# a+\ntwo hits\n\n# (\nno regular expression"
    assert [search["pattern"] for search in both.data["searches"]] == ["a+", "("]
    assert not both.is_error
    assert joined({"(": bad}) is bad


def test_eight_searches_of_long_patterns_stay_within_the_budget() -> None:
    patterns = [f"{number}{'x' * 2_000}" for number in range(8)]
    room = 4_000 // 8 - JOINED_TOKENS
    found = {
        pattern: answer_of("grep_search", ToolResult("ok", {"pattern": pattern, "hits": rows(50)}), {}, room)
        for pattern in patterns
    }
    assert whole_size(joined(found)) <= 4_000
    nothing = {pattern: answer_of("grep_search", ToolResult("empty"), {}, room) for pattern in patterns}
    assert whole_size(joined(nothing)) <= 4_000
    assert whole_size(joined({pattern: refusal("no regular expression: " + pattern) for pattern in patterns})) <= 4_000
    bad = refusal("no regular expression")
    assert joined({"(": bad, ")": bad}).is_error


@pytest.mark.parametrize(
    ("count", "budget", "shown"), [(8, 4_000, 8), (8, 2_240, 8), (8, 2_239, 7), (8, 500, 1), (1, 500, 1)]
)
def test_of_many_searches_as_many_are_made_as_leave_each_a_few_rows(count: int, budget: int, shown: int) -> None:
    fitting, room = room_of(count, budget)
    assert fitting == shown
    searched = {
        str(n): answer_of("grep_search", ToolResult("ok", {"hits": rows(50)}), {}, room) for n in range(fitting)
    }
    whole = joined(searched, count - fitting)
    assert whole_size(whole) <= budget
    assert ("cut" in whole.data) is (fitting < count or count == 1)


def test_of_a_line_that_does_not_fit_the_beginning_is_shown() -> None:
    data = {"file": "a.py", "start_line": 1, "end_line": 1, "total_lines": 2, "text": "x" * 20_000}
    answer = answer_of("read_code", ToolResult("ok", data), {}, 600)
    assert whole_size(answer) <= 600
    assert answer.data["text"].startswith("xxx")
    assert answer.data["text"].endswith("…")


@pytest.mark.parametrize("files", [1, 39, 40])
@pytest.mark.parametrize("budget", [300, 1_000, 4_000])
def test_an_impact_keeps_files_rather_than_reasons_and_says_what_is_missing(files: int, budget: int) -> None:
    made = [
        {"file": f"pkg/module_{n}.py", "reasons": [f"calls it: f{k} (line {n})" for k in range(5)]}
        for n in range(files)
    ]
    whole = {"must_verify": made, "should_verify": made[:12], "cut": "40 of 51 files that must be verified"}
    told = within(whole if files == 40 else {key: whole[key] for key in ("must_verify", "should_verify")}, budget)
    assert 2 * size_tokens(json.dumps(told, ensure_ascii=False, indent=1)) <= budget
    kept = len(told["must_verify"])
    assert told["must_verify"][0]["file"] == "pkg/module_0.py"
    if kept < files:
        assert told["cut"].startswith(f"{kept} of {51 if files == 40 else files} files")
        assert all(len(row["reasons"]) == 1 for row in told["must_verify"])


def text_search(asked: str | None, searched: str | None, *tries: str) -> ToolAnswer:
    data = {"pattern": "x", "scope": searched, "hits": [{"file": "a.py", "line": 1, "text": "x"}]}
    attempts = tuple(Attempt(name, "ok") for name in tries)
    return answer_of("grep_search", ToolResult("ok", data, attempts=attempts), {"scope": asked}, 4_000)


@pytest.mark.parametrize(
    ("asked", "searched", "tries", "note"),
    [
        ("src", "src", ["as_asked"], None),
        (None, None, ["as_asked"], None),
        (None, None, ["as_asked", "broadened"], "in exactly this case of letters"),
        ("src/a", "src", ["as_asked", "broadened", "parent:src"], "nothing in src/a: these are from src"),
        ("src", None, ["as_asked", "broadened", "parent:."], "nothing in src: these are from the whole repository"),
    ],
)
def test_a_text_search_that_went_beyond_what_was_asked_says_so(
    asked: str | None, searched: str | None, tries: list[str], note: str | None
) -> None:
    answer = text_search(asked, searched, *tries)
    assert ("note" in answer.data) is (note is not None)
    assert note is None or (note in answer.data["note"] and note in answer.text)


@pytest.mark.parametrize(
    ("left_out", "told"), [(0, ""), (1, "1 further mention whose"), (2, "2 further mentions whose")]
)
def test_uses_that_were_left_out_are_counted_in_a_line(left_out: int, told: str) -> None:
    data = {"symbol": "stop", "callers": [{"file": "a.py", "line": 1}], "left_out": left_out}
    answer = answer_of("explore_symbol_usage", ToolResult("ok", data), {"symbol": "stop"}, 4_000)
    assert ("left_out" in answer.data, "further" in answer.text) == (False, bool(left_out))
    assert str(answer.data.get("note", "")).startswith(told)


@pytest.mark.parametrize("strategy", ["fuzzy_path", "index_by_name"])
def test_a_file_that_does_not_exist_is_not_read_in_another_one_s_place(strategy: str) -> None:
    attempts = (Attempt("path", "not_found"), Attempt(strategy, "ok", 1))
    answer = answer_of("read_code", read(3, attempts=attempts), {"path": "b.py"}, 4_000)
    assert answer.text.startswith("there is no file b.py; near it is a.py")
    assert (answer.data["status"], answer.shown) == ("not_found", ())
    found = ToolResult("ok", {"file": "a.py", "symbols": rows(1)}, attempts=attempts)
    assert (
        "there is no file b.py; this is of a.py" in answer_of("get_file_symbols", found, {"path": "b.py"}, 4_000).text
    )


def test_a_definition_of_another_name_or_file_is_told_to_be_one() -> None:
    like = read(3, attempts=[Attempt("symbol_index", "not_found"), Attempt("partial_symbol", "ok", 1)])
    assert "no definition is named f" in answer_of("read_code", like, {"symbol": "f"}, 4_000).text
    elsewhere = answer_of("read_code", read(3), {"symbol": "f", "path": "b.py"}, 4_000)
    assert elsewhere.text.startswith("b.py does not define f; this is the one in a.py\n")
    assert "note" not in answer_of("read_code", read(3), {"symbol": "f", "path": "./a.py"}, 4_000).data


def test_a_binary_file_that_is_asked_for_is_an_error_and_counts_as_looked_at() -> None:
    result = ToolResult("unsupported", {"asked_path": "logo.png", "binary": "logo.png"}, error="logo.png is binary")
    answer = answer_of("read_code", result, {"path": "logo.png"}, 1_000)
    assert answer.is_error
    assert "`logo.png:1` stands for it" in answer.text
    assert answer.shown == (ShownLines("logo.png", 1, 1),)
