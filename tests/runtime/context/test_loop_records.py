"""Actions and facts become neutral records: digests, groups, categories of errors, and what is new."""

from __future__ import annotations

from typing import Any

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
