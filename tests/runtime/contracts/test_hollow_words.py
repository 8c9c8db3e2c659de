"""Submissions that say nothing: invisible reasons, dashes for findings, evidence without a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from runtime.contracts.contract import FieldRule
from runtime.contracts.payloads import says_something, visible
from runtime.contracts.said_words import words_in
from runtime.contracts.session_state import ToolUse
from runtime.contracts.task_lists import MAX_TASK_BYTES
from runtime.contracts.vague_findings import VAGUE
from tests.runtime.contracts.session_player import CONTRACT, Player


@pytest.mark.parametrize("blank", ["\u200b" * 12, "\u3164" * 12, "\u2800" * 12, "\u202e\u2066 \ufeff" * 4])
def test_characters_that_nobody_sees_are_no_reason(blank: str) -> None:
    assert visible(blank) == ""
    player = Player().go_to("Q1")
    told = player.submit(reason=blank)
    assert "reason: 0 characters, at least 1 expected" in told.problems
    player.go_to("READY_IMPLEMENTATION")
    items = [{**item, "status": "skipped", "reason": blank} for item in player.payload()["checklist"]]
    assert "reason: 0 characters, at least 10 expected" in str(player.submit(checklist=items).problems)


@pytest.mark.parametrize(("text", "says"), [("-", False), ("", False), ("a", True), ("7", True), ("é", True)])
def test_a_text_says_something_with_a_letter_or_digit(text: str, says: bool) -> None:
    assert says_something(text) is says


def test_a_dash_is_no_finding_about_a_file_that_must_be_verified() -> None:
    player = Player().go_to("Q3")
    player.submit(needs_impact_analysis=True)
    player.state = player.state.with_(must_verify=("load.py",))
    told = player.submit(impact_summary=[{"file": "load.py", "finding": "-"}])
    assert "impact_summary[0].finding: '-' has 0 words" in told.problems[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", 0),
        ("- …", 0),
        ("a b c", 0),
        ("ok", 1),
        ("ok OK ok.", 1),
        ("src/load.py:12-30", 1),
        ("Class.method", 1),
        ("unused import", 2),
        ("60 retries", 2),
        ("未使用", 3),
        ("な し", 2),
        ("的的", 1),
        ("ไม่มีการเรียกใช้", 5),
        ("не используется", 2),
        ("אין קריאות", 2),
    ],
)
def test_words_are_counted_in_any_script(text: str, words: int) -> None:
    assert words_in(text) == words


@pytest.mark.parametrize("finding", ["x", "yes", "done done", "load.py", "load.py:1-9"])
def test_a_letter_a_word_or_a_place_is_no_finding(finding: str) -> None:
    player = Player().go_to("EXPLORATION")
    told = player.submit(findings=["load calls fetch once", finding])
    assert told.code == "payload_mismatch"
    assert f"findings[1]: '{finding}' has" in told.problems[0]
    assert "2 different words expected at least" in told.problems[0]


@pytest.mark.parametrize("finding", ["unused import", "Reads config.", "load: dead", "无影响"])
def test_a_short_finding_is_one(finding: str) -> None:
    assert not Player().go_to("EXPLORATION").submit(findings=[finding]).code


def texts_in(fields: Mapping[str, FieldRule], path: str = "") -> Iterator[tuple[str, FieldRule]]:
    for name, rule in fields.items():
        if rule.type in {"text", "texts"}:
            yield f"{path}{name}", rule
        yield from texts_in(rule.fields, f"{path}{name}.")


# What is a name, a place or a copied text, and the reason of a skipped item, which has a least length of its own.
NO_SENTENCES = {
    *("documents_reviewed", "mandatory_rules.source", "tools_used", "explored_files", "failed_tasks", "reviewed_files"),
    *("tasks.id", "tasks.fixes", "task_id", "impact_summary.file", "prompt_used", "hypotheses_verified.evidence"),
    *("checklist.evidence", "checklist.reason", "tasks.checklist.evidence", "tasks.checklist.reason"),
}


def test_every_text_that_is_to_say_something_has_a_least_number_of_words() -> None:
    for name, phase in CONTRACT.phases.items():
        for field, rule in texts_in(phase.expected_payload):
            is_slot = field.rpartition(".")[2] in {"value", "quote"}
            assert (rule.words > 0) is not (field in NO_SENTENCES or is_slot), f"{name}: {field}"


@pytest.mark.parametrize("summary", ["x", "-", "a b"])
def test_a_summary_is_a_word_at_least(summary: str) -> None:
    for phase in ("DOCUMENT_RESEARCH", "EXPLORATION", "READY_COMPLETION", "MERGE"):
        told = Player().go_to(phase).submit(summary=summary)
        assert "summary: " in told.problems[0]
        assert "a word expected at least" in told.problems[0]


def test_evidence_of_a_hypothesis_names_a_file_that_was_shown() -> None:
    player = Player().go_to("Q2")
    player.submit(has_unverified_hypotheses=True)
    entry = {"hypothesis": "fetch raises OSError", "confirmed": True, "evidence": "trust me"}
    assert "names no file that this session's tools showed" in player.submit(hypotheses_verified=[entry]).problems[0]
    assert not player.submit(hypotheses_verified=[{**entry, "evidence": "see net.py:3"}]).code


@pytest.mark.parametrize(
    ("target", "is_taken"),
    [("load", True), ("pages.load", True), ("net.py", True), ("README.md", False), ("sum", False)],
)
def test_an_impact_analysis_is_about_code_of_the_change(target: str, is_taken: bool) -> None:
    player = Player().go_to("Q3")
    player.submit(needs_impact_analysis=True)
    kept = [use for use in player.state.uses if use.kind != "impact"]
    player.state = player.state.with_(uses=tuple(kept), explored=("net.py", "README.md"), must_verify=())
    player.state = player.state.with_use(ToolUse("analyze_impact", player.state.visit, "impact", (target,)))
    told = player.submit(impact_summary=[{"file": "net.py", "finding": "calls it"}], tools=[])
    assert (not told.code) is is_taken, told
    assert is_taken or "it was called for no code of this change; call it for load" in str(told.problems)


@pytest.mark.parametrize(("line", "is_taken"), [(1, True), (5, True), (6, False), (9_999, False)])
def test_lines_behind_a_hypothesis_were_shown(line: int, is_taken: bool) -> None:
    player = Player().go_to("Q2")
    player.submit(has_unverified_hypotheses=True)
    player.state = player.state.with_(shown={**player.state.shown, "net.py": ((1, 5),)})
    entry = {"hypothesis": "fetch raises OSError", "confirmed": True, "evidence": f"see net.py:{line}, where it raises"}
    told = player.submit(hypotheses_verified=[entry])
    assert (not told.code) is is_taken, told
    assert is_taken or f"no tool of this session showed net.py:{line}" in told.problems[0]


def test_a_frame_whose_action_is_not_quoted_is_refused() -> None:
    player = Player().go_to("QUERY_FRAME")
    told = player.submit(action_type={"value": "modify", "quote": "burn the house"})
    assert told.problems == ("action_type.quote: these words are not in the query; copy them from it, whole words",)


def test_a_frame_tells_which_symbols_are_of_low_confidence() -> None:
    player = Player().go_to("QUERY_FRAME")
    assert "taken with low confidence, so look them up first: load" in player.submit().notes


def test_a_tool_that_showed_nothing_is_no_second_kind_of_exploration() -> None:
    player = Player().go_to("EXPLORATION")
    player.use("find_definitions")
    player.state = player.state.with_use(ToolUse("read_code", player.state.visit, "reading"))
    told = player.submit(tools=[], tools_used=["find_definitions"])
    assert "must be called in this phase; this server saw 1 that showed something" in told.problems[0]


@pytest.mark.parametrize("refused", [True, False])
def test_a_call_that_was_refused_is_no_call_of_a_demanded_tool(refused: bool) -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    use = ToolUse("check_write_target", player.state.visit, targets=("load.py",), refused=refused)
    player.state = player.state.with_use(use)
    told = player.submit(tools=[])
    assert ("check_write_target must be called for this task; this server saw 0" in str(told.problems)) is refused


@pytest.mark.parametrize("phase", ["Q1", "READY_COMPLETION", "MERGE"])
def test_a_list_of_tools_is_taken_where_none_is_asked_for(phase: str) -> None:
    assert not Player().go_to(phase).submit(tools_used=[]).code
    assert "never called" in str(Player().go_to(phase).submit(tools_used=["map_module"]).problems)
    assert "not expected" in str(Player().go_to(phase).submit(tools_used="all").problems)


def test_a_file_of_which_hardly_a_line_was_shown_is_told() -> None:
    player = Player().go_to("EXPLORATION")
    player.use("find_definitions", "find_references")
    player.state = player.state.with_use(ToolUse("map_module", player.state.visit, "structure"), {"uv.lock": ((1, 1),)})
    told = player.submit(tools=[], explored_files=["uv.lock", "load.py"])
    assert told.notes == ("hardly a line was shown of uv.lock; read what you will change",)


@pytest.mark.parametrize(("more", "is_taken"), [(-1, True), (0, True), (1, False)])
def test_a_task_has_a_greatest_size(more: int, is_taken: bool) -> None:
    items = ["é" * 250] * 3
    rest = MAX_TASK_BYTES - 3 * 500 - 3 - 2_000
    checklist = [{"item": f"{number}{item}", "status": "pending"} for number, item in enumerate(items)]
    checklist += [{"item": "y" * 50, "status": "pending"}, {"item": "z" * (rest - 50 + more), "status": "pending"}]
    task = {"id": "t1", "description": "d" * 2_000, "status": "pending", "checklist": checklist}
    told = Player().go_to("READY_PLANNING").submit(tasks=[task])
    assert (not told.code) is is_taken
    assert is_taken or f"{MAX_TASK_BYTES + 1} bytes, at most {MAX_TASK_BYTES} expected" in told.problems[0]


@pytest.mark.parametrize("finding", ["lorem ipsum", "foo bar", "xx yy zz", "无影响"])
def test_a_few_words_that_name_nothing_are_told_to_the_end(finding: str) -> None:
    player = Player().go_to("EXPLORATION")
    told = player.submit(findings=[finding])
    assert not told.code
    assert told.notes == (f"{VAGUE}«{finding}»",)
    assert player.state.warnings == told.notes


@pytest.mark.parametrize(
    "finding",
    ["load: dead", "only load calls it", "nobody catches its error", "the network may fail", "вызов load один"],
)
def test_a_finding_that_names_something_or_says_more_is_not_told(finding: str) -> None:
    told = Player().go_to("EXPLORATION").submit(findings=["foo bar", finding])
    assert not told.notes
