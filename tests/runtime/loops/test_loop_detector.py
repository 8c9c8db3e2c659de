"""Each kind of loop is found by the step that closes it; honest work is left alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from runtime.loops.detector import LoopDetector, first_loop
from runtime.loops.records import ActionGroup, StepRecord, summary
from runtime.loops.thresholds import NO_THRESHOLDS, Thresholds

GROUPS: dict[str, ActionGroup] = {
    "edit": "edit",
    "replace": "edit",
    "extract": "extract",
    "check": "check",
    "tests": "check",
    "read": "read",
    "load": "read",
    "complete": "end",
}


class Log:
    """Builds records step by step; the state is carried on until a step changes it."""

    def __init__(self, state: str = "s0") -> None:
        self.start = self.state = state
        self.records: list[StepRecord] = []

    def add(self, action: str, parameters: str = "p", **fields: Any) -> Log:
        self.state = fields.pop("state", self.state)
        fields = {"outcome": "success", "group": GROUPS.get(action, "other"), "state": self.state, **fields}
        step = len(self.records) + 1
        self.records.append(StepRecord(step=step, action=action, parameters=parameters, **fields))
        return self

    def fail(self, action: str, parameters: str = "p", category: str = "not_found", **fields: Any) -> Log:
        fields.setdefault("error", category)
        return self.add(action, parameters, outcome="failure", error_category=category, **fields)

    def taken_back(self, action: str, parameters: str, **fields: Any) -> Log:
        return self.fail(action, parameters, "test_regression", is_state_restored=True, **fields)

    def found(self, **thresholds: int | None) -> str | None:
        """The kind and the step of the first loop, like "oscillation 4"."""
        detector = LoopDetector(Thresholds(**thresholds), initial_state=self.start)
        found = first_loop(self.records, detector)
        return f"{found.kind} {found.step}" if found else None


def only(kind: str, threshold: int) -> dict[str, int | None]:
    return {**msgspec.structs.asdict(NO_THRESHOLDS), kind: threshold}


def test_the_same_action_with_the_same_error_is_a_loop_at_the_third_time() -> None:
    log = Log().fail("edit").fail("edit")
    assert log.found() is None
    assert log.fail("edit").found() == "identical_action 3"


def test_the_same_successful_action_that_leaves_the_same_state_is_a_loop_at_the_third_time() -> None:
    log = Log().add("edit", state="s1").add("edit")
    assert log.found() is None
    assert log.add("edit").found() == "identical_action 3"


def test_refused_actions_that_are_repeated_are_a_loop() -> None:
    log = Log().add("complete", outcome="skipped").add("complete", outcome="skipped")
    assert log.add("complete", outcome="skipped").found() == "identical_action 3"


@pytest.mark.parametrize("news", ["has_new_facts", "has_new_checks", "has_new_files"])
def test_the_same_action_that_brings_news_is_no_loop(news: str) -> None:
    log = Log()
    for _ in range(6):
        log.add("load", "p", **{news: True})
    assert log.found() is None


def test_new_words_for_the_same_failure_do_not_hide_that_the_action_is_the_same() -> None:
    log = Log()
    for number in range(3):
        log.fail("edit", error=f"text {number}", has_new_errors=True)
    assert log.found() == "identical_action 3"


def test_failures_that_alternate_are_a_loop_when_each_was_returned_to() -> None:
    log = Log().fail("edit", "1").fail("replace", "2", "syntax_error").fail("edit", "1")
    assert log.found(**only("error_cycle", 2)) is None
    assert log.fail("replace", "2", "syntax_error").found(**only("error_cycle", 2)) == "error_cycle 4"


def test_attempts_that_alternate_and_differ_each_time_may_return_once_more() -> None:
    log = Log()
    for number, action in enumerate(["edit", "replace", "edit", "replace"]):
        log.fail(action, str(number), "other", error=f"error {number}")
    assert log.found(**only("error_cycle", 2)) is None
    assert log.fail("edit", "9", "other", error="error 9").found(**only("error_cycle", 2)) == "error_cycle 5"


def test_reading_between_alternating_failures_does_not_hide_them() -> None:
    log = Log()
    for _ in range(2):
        log.fail("edit", "1").add("read", has_new_files=True)
        log.fail("replace", "2", "syntax_error").add("read", "q", has_new_files=True)
    assert log.found() == "error_cycle 7"


def test_checks_between_alternating_failures_do_not_hide_them() -> None:
    log = Log()
    for _ in range(2):
        log.fail("edit", "1").fail("check", category="").fail("replace", "2", "syntax_error").fail("tests", category="")
    assert log.found(**only("error_cycle", 2)) == "error_cycle 7"


def test_an_edit_and_a_check_that_fail_in_turn_are_a_loop() -> None:
    log = Log().add("check", has_new_checks=True)
    for _ in range(2):
        log.fail("edit", "1").fail("check", category="")
    assert log.found(**only("error_cycle", 2)) == "error_cycle 5"


def test_checks_that_cannot_run_fail_as_any_action_does() -> None:
    log = Log().fail("check", category="timeout").fail("tests", category="timeout").fail("check", category="timeout")
    assert log.found() is None
    assert log.fail("tests", category="timeout").found() == "error_cycle 4"


def test_a_change_that_was_kept_ends_a_cycle_of_failures() -> None:
    log = Log()
    for number in range(6):
        log.fail("edit", "1").fail("replace", "2", "syntax_error").add("edit", "3", state=f"s{number + 1}")
    assert log.found() is None


def test_different_actions_that_fail_with_the_same_category_are_a_loop_at_the_fourth() -> None:
    log = Log().fail("edit", "1", error="a").fail("replace", "2", error="b").fail("extract", "3", error="c")
    assert log.found() is None
    assert log.fail("edit", "4", error="d").found(no_progress=None) == "semantic_loop 4"


def test_reading_between_failures_of_one_category_does_not_hide_them() -> None:
    log = Log()
    for number, action in enumerate(["edit", "replace", "extract", "extract"]):
        log.fail(action, str(number), error=str(number), has_new_errors=True).add("read", action, has_new_files=True)
    assert log.found() == "semantic_loop 7"


def test_failures_of_one_action_alone_are_no_semantic_loop() -> None:
    log = Log()
    for number in range(6):
        log.fail("extract", str(number), "extraction_blocked", error=str(number), has_new_errors=True)
    assert log.found() is None


def test_unlike_errors_without_a_category_are_no_semantic_loop() -> None:
    log = Log()
    for number, action in enumerate(["edit", "replace", "extract", "edit"]):
        log.fail(action, str(number), "other", error=f"error {number}", has_new_errors=True)
    assert log.found() is None


def test_equal_errors_without_a_category_are_a_semantic_loop() -> None:
    log = Log()
    for number, action in enumerate(["edit", "replace", "extract", "edit"]):
        log.fail(action, str(number), "other", error="disk full", has_new_errors=True)
    assert log.found() == "semantic_loop 4"


def test_the_same_error_recorded_three_times_is_a_loop() -> None:
    log = Log().fail("edit", "1", errors=("e",), has_new_errors=True).add("read", has_new_files=True)
    log.fail("edit", "2", errors=("e",)).add("read", "q", has_new_files=True)
    assert log.found() is None
    assert log.fail("edit", "3", errors=("e",)).found() == "semantic_loop 5"


def test_states_that_the_agent_comes_back_to_twice_are_a_loop() -> None:
    log = Log().add("edit", "1", state="a").add("edit", "2", state="b").add("edit", "1", state="a")
    assert log.found() is None
    assert log.add("edit", "2", state="b").found() == "oscillation 4"


def test_a_round_of_three_states_is_a_loop_at_the_second_return() -> None:
    log = Log()
    for state in "abca":
        log.add("edit", state, state=state, has_new_facts=True)
    assert log.found() is None
    assert log.add("edit", "b", state="b", has_new_facts=True).found() == "oscillation 5"


def test_a_state_that_the_agent_returns_to_between_others_is_a_loop() -> None:
    log = Log()
    for state in "abac":
        log.add("edit", state, state=state)
    assert log.found() is None
    assert log.add("edit", "a", state="a").found() == "oscillation 5"


def test_returns_far_apart_in_a_long_run_are_no_loop() -> None:
    log = Log()
    for number in range(9):
        for state in (f"{number} a", f"{number} b", f"{number} a"):
            log.add("edit", state, state=state)
    assert log.found() is None


def test_undoing_an_edit_once_and_making_it_again_is_no_loop() -> None:
    log = Log().add("edit", "1", state="a").add("tests", has_new_checks=True).add("edit", "2", state="s0")
    assert log.add("tests").add("edit", "1", state="a").add("tests").found() is None


def test_checks_that_record_another_result_bring_about_no_state_to_come_back_to() -> None:
    log = Log()
    for state in ("a", "b", "a"):
        log.add("edit", state, state=state).add("check", state=f"{state} failing").add("tests", state=f"{state} red")
    assert log.found() is None
    assert log.add("edit", "b", state="b").found() == "oscillation 10"


def test_checks_whose_results_alternate_bring_nothing_new() -> None:
    log = Log().add("edit", state="a")
    for _ in range(2):
        log.add("check", state="a, checked").add("tests", state="a, tested")
    assert log.found() is None
    log.add("check", state="a, checked").add("tests", state="a, tested")
    assert str(log.found()).startswith("no_progress")


def test_the_same_edit_is_a_loop_though_the_system_takes_it_back_in_steps_of_its_own() -> None:
    log = Log()
    for _ in range(2):
        log.add("edit", state="a").add("revert", state="s0", is_by_system=True)
    assert log.found() is None
    assert log.add("edit", state="a").found() == "identical_action 5"


def test_states_that_the_system_restores_are_no_visits() -> None:
    log = Log()
    for number in range(3):
        log.add("edit", str(number), state=f"a{number}", has_new_facts=True)
        log.add("revert", state="s0", is_by_system=True)
    assert log.found() is None


@pytest.mark.parametrize("look", ["read", "search"])
def test_looking_at_other_files_between_edits_does_not_hide_that_they_undo_one_another(look: str) -> None:
    log = Log()
    for number, state in enumerate("aba"):
        log.add("edit", state, state=state).add(look, str(number), has_new_files=True, has_new_facts=True)
    assert log.found() is None
    assert log.add("edit", "b", state="b").found() == "oscillation 7"


def test_coming_back_with_new_results_of_checks_each_time_is_no_loop() -> None:
    log = Log()
    for number in range(4):
        log.add("edit", f"{number}", state=f"a{number}").add("tests", has_new_checks=True)
        log.add("edit", "undo", state="s0")
    assert log.found() is None


def test_four_steps_that_bring_nothing_are_a_loop() -> None:
    log = Log().add("read", "1", has_new_files=True).add("read", "2", has_new_files=True)
    log.add("read", "1").add("read", "2").add("read", "1")
    assert log.found() is None
    assert log.add("read", "2").found() == "no_progress 6"


def test_the_fourth_look_at_known_files_after_an_edit_that_passed_its_checks_is_a_loop() -> None:
    log = Log()
    for name in "1234":
        log.add("read", name, has_new_files=True)
    log.add("edit", state="a").add("check", has_new_checks=True).add("tests")
    log.add("read", "1").add("read", "2").add("read", "3")
    assert log.found() is None
    assert log.add("read", "4").found() == "no_progress 11"


@pytest.mark.parametrize("action", ["edit", "check", "complete"])
def test_a_failure_is_a_reason_to_look_at_each_known_file_once_more(action: str) -> None:
    log = Log()
    for name in "12345":
        log.add("read", name, has_new_files=True)
    if action != "edit":
        log.add("edit", "good", state="a").add("tests", has_new_checks=True)
    if action == "complete":
        log.add("complete", outcome="skipped")
    else:
        log.fail(action, "bad", "other")
    for name in "12345":
        log.add("read", name)
    assert log.found() is None
    closing = len(log.records) + 2
    assert log.add("read", "1").add("read", "2").found() == f"no_progress {closing}"


def test_an_edit_that_the_system_takes_back_in_a_step_of_its_own_has_failed() -> None:
    log = Log()
    for name in "1234":
        log.add("read", name, has_new_files=True)
    log.add("edit", state="a").add("revert", state="s0", is_by_system=True)
    for name in "1234":
        log.add("read", name)
    assert log.found() is None


def test_after_a_failure_a_part_of_a_known_file_is_looked_at_once() -> None:
    log = Log().add("read", files_read=("a.py:1-300",), has_new_files=True).fail("edit", "bad", "other")
    log.add("read", "1", files_read=("a.py:40-90",)).add("read", "2", files_read=("a.py:100-150",))
    log.add("read", "3", files_read=("a.py:160-190",)).add("read", "4", files_read=("a.py:41-91",))
    assert log.found() is None
    assert log.add("read", "5", files_read=("a.py:42-92",)).found() == "no_progress 7"


def test_checks_and_tests_in_turn_after_an_edit_are_a_loop() -> None:
    log = Log().add("edit", state="a").add("check").add("tests").add("check")
    assert log.found() is None
    assert log.add("tests").found() == "no_progress 5"


def test_four_edits_that_the_system_takes_back_are_a_loop_and_three_are_not() -> None:
    log = Log().add("read", has_new_files=True)
    for number in range(3):
        log.taken_back("edit", str(number), errors=("test_a fails",)).add("read").add("tests", outcome="failure")
    assert log.found() is None
    assert log.taken_back("edit", "3", errors=("test_a fails",)).found() == "no_progress 11"


def test_three_edits_that_are_taken_back_in_a_row_are_honest_whichever_action_made_them() -> None:
    for actions in (["edit"] * 3, ["edit", "extract", "edit"], ["edit", "edit", "replace"]):
        log = Log()
        for number, action in enumerate(actions):
            log.taken_back(action, str(number), errors=("test_a fails",), has_new_errors=number == 0)
        assert log.add("extract", "good", state="a").found() is None


def test_the_same_edit_taken_back_three_times_is_a_loop() -> None:
    log = Log().taken_back("edit", "1").taken_back("edit", "1")
    assert log.found() is None
    assert log.taken_back("edit", "1").found() == "identical_action 3"


def test_the_same_result_of_a_check_three_times_without_an_edit_is_a_loop() -> None:
    log = Log().add("check", checks=("c",), has_new_checks=True).add("read", "1", has_new_files=True)
    log.add("check", checks=("c",)).add("read", "2", has_new_files=True)
    assert log.found() is None
    assert log.add("check", checks=("c",)).found() == "no_progress 5"


def test_checks_after_each_of_many_edits_are_honest_though_their_results_stay_the_same() -> None:
    log = Log().add("check", checks=("c",), has_new_checks=True)
    for number in range(20):
        log.add("edit", str(number), state=f"a{number}", checks=("c",)).add("read").add("check", checks=("c",))
        log.add("tests", outcome="failure", errors=("e",), checks=("d",))
    assert log.found() is None


def test_reading_many_different_files_is_honest() -> None:
    log = Log()
    for number in range(30):
        log.add("read", str(number), has_new_files=True)
    assert log.found() is None


def test_failed_edits_that_are_corrected_each_time_are_honest() -> None:
    log = Log()
    for number in range(8):
        log.fail("edit", f"bad {number}", errors=("e",)).add("read").add("edit", str(number), state=f"a{number}")
    assert log.found() is None


def test_the_most_specific_kind_is_named() -> None:
    log = Log().add("check", checks=("c",)).add("check", checks=("c",)).add("check", checks=("c",))
    assert log.found() == "identical_action 3"
    assert log.found(identical_action=None) == "no_progress 3"


@pytest.mark.parametrize("threshold", [2, 3, 5])
def test_a_threshold_is_met_exactly(threshold: int) -> None:
    log = Log()
    for _ in range(threshold - 1):
        log.add("read")
    assert log.found(**only("identical_action", threshold)) is None
    assert log.add("read").found(**only("identical_action", threshold)) == f"identical_action {threshold}"


def test_a_kind_without_a_threshold_is_not_looked_for() -> None:
    log = Log()
    for _ in range(9):
        log.add("read")
    assert first_loop(log.records, LoopDetector(NO_THRESHOLDS)) is None


def test_a_threshold_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="no_progress is 0; at least 1"):
        Thresholds(no_progress=0)


def test_what_was_found_names_the_steps_and_suggests_something_else() -> None:
    log = Log()
    for _ in range(3):
        log.fail("edit", target="a.py")
    advice = {("edit", "not_found"): ("Read the file again.",), ("edit", ""): ("Edit differently.",)}
    found = first_loop(log.records, LoopDetector(advice=advice))
    assert found is not None
    assert found.description == "'edit' was repeated 3 times with the same parameters and brought nothing new"
    assert found.evidence == tuple(f"step {number}: edit a.py -> failure (not_found)" for number in (1, 2, 3))
    assert found.suggestions[0] == "Read the file again."
    assert "Edit differently." not in found.suggestions
    assert (found.confidence, found.step, found.action, found.parameters) == (1.0, 3, "edit", "p")


def test_after_starting_over_a_loop_must_show_itself_anew() -> None:
    detector = LoopDetector()
    found = [detector.add(StepRecord(step, "read", "success", "read")) for step in range(3)]
    assert [loop is not None for loop in found] == [False, False, True]
    detector.start_over()
    found = [detector.add(StepRecord(step, "read", "success", "read")) for step in range(3, 6)]
    assert [loop is not None for loop in found] == [False, False, True]


def test_the_summary_counts_actions_by_name_and_outcome() -> None:
    log = Log().add("read").fail("edit").fail("edit").add("edit", state="a")
    found = summary(log.records)
    assert (found.total, found.by_action, found.by_outcome) == (4, {"read": 1, "edit": 3}, {"success": 2, "failure": 2})
    assert (found.success_rate, found.most_common) == (0.5, "edit")
    assert summary([]).most_common is None
