"""Actions and facts become neutral records: digests, groups, categories of errors, and what is new."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.context.actions import ActionRecord, ActionResult
from runtime.context.loop_records import (
    EDITING_ADVICE,
    GROUP_OF,
    LoopRecorder,
    state_digest,
)
from runtime.context.understanding import Fact, FactCategory
from runtime.loops.detector import LoopDetector


def action(step: int = 1, name: str = "run_check", **fields: Any) -> ActionRecord:
    return ActionRecord(**{"step": step, "action": name, "result": ActionResult.SUCCESS, "summary": "", **fields})


def fact(statement: str, category: FactCategory = FactCategory.CODE_STRUCTURE) -> Fact:
    return Fact(id=f"f-{statement}", category=category, statement=statement, confidence=1, source="run_check:x")


def test_a_category_that_is_given_goes_before_the_text() -> None:
    record = LoopRecorder().record(action(error="file not found"), "s", category="test_regression")
    assert record.error_category == "test_regression"


def test_numbers_in_the_text_of_an_error_do_not_make_another_error() -> None:
    recorder = LoopRecorder()
    first = recorder.record(action(error="invalid syntax at line 3"), "s")
    assert recorder.record(action(error="Invalid syntax at  line 14"), "s").error == first.error
    assert recorder.record(action(error="unexpected indent at line 3"), "s").error != first.error


def test_parameters_are_equal_whatever_their_order_and_unequal_for_another_target() -> None:
    recorder = LoopRecorder()
    first = recorder.record(action(parameters={"a": 1, "b": [2]}, target="f"), "s")
    assert recorder.record(action(parameters={"b": [2], "a": 1}, target="f"), "s").parameters == first.parameters
    assert recorder.record(action(parameters={"b": [2], "a": 1}, target="g"), "s").parameters != first.parameters
    assert recorder.record(action(parameters={"a": True, "b": [2]}, target="f"), "s").parameters != first.parameters


def test_a_fact_and_a_file_are_new_once() -> None:
    recorder = LoopRecorder()
    facts = [fact("f has 9 lines"), fact("1 violation", FactCategory.VERIFICATION), fact("gone", FactCategory.ERROR)]
    first = recorder.record(action(), "s", facts, ["a.py"])
    assert (first.has_new_facts, first.has_new_checks, first.has_new_errors, first.has_new_files) == (True,) * 4
    again = recorder.record(action(), "s", facts, ["a.py"])
    assert (again.has_new_facts, again.has_new_checks, again.has_new_errors, again.has_new_files) == (False,) * 4
    assert (len(again.checks), len(again.errors)) == (1, 1)
    assert again.checks == first.checks


def test_a_fact_that_says_no_more_than_the_result_is_none() -> None:
    bare = fact("edit_file failed", FactCategory.ERROR).changed(source="edit_file:result")
    record = LoopRecorder().record(action(), "s", [bare])
    assert (record.errors, record.has_new_errors) == ((), False)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("9 passed in 1.31s", "9 passed in 1.29s"),
        ("9 passed in 59.9 s", "9 passed in 71.20 s (0:01:11)"),
        ("Ran 4 tests in 3 seconds", "Ran 4 tests in 812 ms"),
        ("ok after 1m3.5s", "ok after 58s"),
        ("9 passed, finished 2026-01-02T03:04:05Z", "9 passed, finished 2026-01-02 03:04:09.123"),
        ("<Order object at 0x7f3a10> is wrong", "<Order object at 0x7f3b58> is wrong"),
    ],
)
@pytest.mark.parametrize("category", [FactCategory.VERIFICATION, FactCategory.ERROR])
def test_a_result_that_differs_only_in_what_each_run_changes_is_the_same(
    category: FactCategory, first: str, second: str
) -> None:
    recorder = LoopRecorder()
    before = recorder.record(action(), "s", [fact(first, category)])
    again = recorder.record(action(), "s", [fact(second, category)])
    assert not (again.has_new_checks or again.has_new_errors)
    assert (again.checks, again.errors) == (before.checks, before.errors)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("9 passed in 1s", "8 passed in 1s"),
        ("3 stages", "4 stages"),
        ("line 3: E711", "line 4: E711"),
        ("12m2", "13m2"),
    ],
)
def test_other_numbers_make_another_result(first: str, second: str) -> None:
    recorder = LoopRecorder()
    recorder.record(action(), "s", [fact(first, FactCategory.VERIFICATION)])
    assert recorder.record(action(), "s", [fact(second, FactCategory.VERIFICATION)]).has_new_checks


def test_a_duration_in_code_is_a_fact_of_its_own() -> None:
    recorder = LoopRecorder()
    recorder.record(action(), "s", [fact("RETRY waits 3 s")])
    assert recorder.record(action(), "s", [fact("RETRY waits 5 s")]).has_new_facts


@pytest.mark.parametrize(
    ("known", "part", "is_new"),
    [
        ("a.py", "a.py:40-90", False),
        ("a.py:1-300", "a.py:40-90", False),
        ("a.py:1-300", "a.py:300", False),
        ("a.py:1-300", "a.py:301", True),
        ("a.py:1-300", "a.py:251-350", True),
        ("a.py:1-100", "a.py:3-102", False),
        ("a.py:1-100", "a.py:11-110", True),
        ("a.py:1-300", "b.py:40-90", True),
        ("a.py:1-300", "a.py", True),
        ("a.py:9-3", "a.py:9-3", False),
        ("a.py:9-3", "a.py:3-9", True),
    ],
)
def test_a_part_of_a_file_is_new_if_enough_of_its_lines_are(known: str, part: str, is_new: bool) -> None:
    recorder = LoopRecorder()
    recorder.know(files_read=[known])
    assert recorder.record(action(), "s", files_read=[part]).has_new_files is is_new


def test_parts_that_were_read_one_by_one_add_up() -> None:
    recorder = LoopRecorder()
    recorder.know(files_read=["a.py:101-200", "a.py:1-50", "a.py:51-100", "a.py:400-500"])
    assert not recorder.record(action(), "s", files_read=["a.py:20-180"]).has_new_files
    assert recorder.record(action(), "s", files_read=["a.py:150-450"]).has_new_files


def test_a_window_that_creeps_on_by_a_line_is_never_new() -> None:
    recorder = LoopRecorder()
    recorder.know(files_read=["a.py:1-50"])
    windows = [f"a.py:{first}-{first + 49}" for first in range(2, 40)]
    assert not any(recorder.record(action(), "s", files_read=[window]).has_new_files for window in windows)


def test_what_was_known_before_the_first_step_is_not_new() -> None:
    recorder = LoopRecorder()
    recorder.know([fact("f has 9 lines")], ["a.py"])
    record = recorder.record(action(), "s", [fact("f has 9 lines")], ["a.py"])
    assert not (record.has_new_facts or record.has_new_files)


def test_the_digest_of_a_state_depends_on_files_and_verification() -> None:
    state = state_digest({"a.py": "1", "b.py": "2"}, {"failing": 1})
    assert state == state_digest({"b.py": "2", "a.py": "1"}, {"failing": 1})
    assert state != state_digest({"a.py": "1", "b.py": "2"}, {"failing": 0})
    assert state != state_digest({"a.py": "1"}, {"failing": 1})


def test_a_loop_of_failed_edits_comes_with_suggestions_for_the_error() -> None:
    recorder, detector = LoopRecorder(), LoopDetector(advice=EDITING_ADVICE)
    failed = [action(n, "edit_file", result=ActionResult.FAILURE, error="old text not found") for n in (1, 2, 3)]
    found = [detector.add(recorder.record(record, "s")) for record in failed][-1]
    assert found is not None
    assert any("read the file again" in text for text in found.suggestions)


def test_advice_is_given_for_known_actions_only() -> None:
    assert {name for name, _ in EDITING_ADVICE} <= set(GROUP_OF)
