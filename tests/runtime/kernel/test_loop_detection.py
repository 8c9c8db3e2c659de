"""Runs that repeat themselves are ended before they burn their bounds."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.pipeline.config import DEFAULT_LOOP_DETECTION
from runtime.primitives.ids import StageName
from runtime.run.envelope import HistoryRecord
from runtime.run.loop_detection import detect_loop, digest_of
from runtime.testing import Bench, PipelineBuilder


def record(stage: str, digest: str) -> HistoryRecord:
    return HistoryRecord(StageName(stage), 1, 1, 0, 0, "success", digest=digest)


def visits(text: str) -> list[HistoryRecord]:
    """Records from words like `a1` (stage a, output 1) and `a-` (stage a, without an output)."""
    return [record(word[0], word[1:].strip("-")) for word in text.split()]


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ("", False),
        ("a1 a1", False),
        ("a1 a1 a1", True),
        ("a1 a1 a1 a1", True),
        ("a1 a2 a1 a1", False),
        ("a2 a1 a1 a1", True),
        ("a1 b1 a1 b2 a1 b3", True),
        ("a1 a1 a- a1", True),
        ("b1 b1 b1 a1", False),
    ],
)
def test_three_visits_in_a_row_with_the_same_output_are_a_loop_whatever_runs_between(history: str, found: bool) -> None:
    assert (detect_loop(visits(history), "a", {"identical_action": 3}) is not None) == found


def test_what_was_found_says_how_often_and_what_the_limit_is() -> None:
    detection = detect_loop(visits("a1 a1 a1 a1"), "a", {"identical_action": 2})
    assert detection is not None
    assert detection.description == "stage 'a' gave the same output 4 times in a row, limit 2"
    assert (detection.kind, detection.confidence) == ("identical_action", 1.0)


def test_without_a_threshold_nothing_is_a_loop() -> None:
    assert detect_loop(visits("a1 a1 a1"), "a", {}) is None


def test_equal_outputs_have_equal_digests_whatever_the_order_of_their_keys() -> None:
    assert digest_of({"a": 1, "b": [{"c": 2, "d": 3}]}) == digest_of({"b": [{"d": 3, "c": 2}], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
    assert digest_of({"a": 1}) != digest_of({"a": True})


def looping(**settings: Any) -> PipelineBuilder:
    builder = PipelineBuilder(loop_detection={"identical_action": 3}, max_iterations=99, max_agent_hops=99, **settings)
    return builder.stage("a", default_next="b").stage("b").rule("again", True, "a")


def test_a_run_that_repeats_itself_ends_with_loop_detected() -> None:
    bench = Bench(looping().build())
    bench.request()
    for number in range(2):
        bench.succeed({"same": 1})
        bench.succeed({"again": True, "n": number})
    bench.succeed({"same": 1})
    assert (bench.reason, bench.envelope.terminal_detail) == (
        "loop_detected",
        "stage 'a' gave the same output 3 times in a row, limit 3",
    )


def test_a_detected_loop_gets_the_answer_at_the_limit() -> None:
    bench = Bench(looping(final_stage="z").stage("z").build())
    bench.request()
    while bench.flying.stage != "z":
        bench.succeed({"again": True})
    bench.succeed({"text": "what was found"})
    assert (bench.reason, bench.envelope.outputs["z"]) == ("loop_detected", {"text": "what was found"})


def test_failed_attempts_between_equal_outputs_do_not_hide_a_loop() -> None:
    builder = PipelineBuilder(loop_detection={"identical_action": 2}).stage("a", max_retries=1).rule("x", 1, "a")
    bench = Bench(builder.edge_limit("a", "a", 9).build())
    bench.request()
    bench.succeed({"x": 1})
    bench.fail()
    bench.wait(1)
    bench.succeed({"x": 1})
    assert bench.reason == "loop_detected"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_fan_out_repeats_itself_when_all_its_items_do_in_whatever_order_they_end(order: tuple[int, int]) -> None:
    builder = PipelineBuilder(loop_detection={"identical_action": 2}, max_iterations=9)
    builder.stage("list", default_next="each").stage("each", foreach="outputs.list.x", default_next="judge")
    bench = Bench(builder.stage("judge").rule("again", True, "list").build())
    bench.request()
    for number in range(2):
        bench.succeed({"x": [1, 2], "n": number})
        for item in order:
            bench.succeed({"of": item}, stage="each", item=item)
        if number == 0:
            bench.succeed({"again": True})
    assert bench.reason == "loop_detected"
    assert "stage 'each'" in str(bench.envelope.terminal_detail)


def test_a_fan_out_in_which_one_item_changes_does_not_repeat_itself() -> None:
    builder = PipelineBuilder(loop_detection={"identical_action": 2}, max_iterations=9)
    builder.stage("list", default_next="each").stage("each", foreach="outputs.list.x", default_next="judge")
    bench = Bench(builder.stage("judge").rule("again", True, "list").build())
    bench.request()
    for number in range(2):
        bench.succeed({"x": [1, 2], "n": number})
        bench.succeed({"of": number}, stage="each", item=0)
        bench.succeed({"of": 1}, stage="each", item=1)
        bench.succeed({"again": number == 0})
    assert bench.reason == "completed"


def test_nothing_is_digested_where_nothing_is_looked_for() -> None:
    bench = Bench(PipelineBuilder().stage("a").build())
    bench.request()
    bench.succeed({"x": 1})
    assert [record.digest for record in bench.envelope.history] == [""]


def failed(stage: str, error: str, hop: int, attempt: int = 1) -> HistoryRecord:
    return HistoryRecord(StageName(stage), hop, attempt, 0, 0, "error", error=error)


@pytest.mark.parametrize(
    ("history", "found"),
    [
        ("a1 b1 a1 b1 a1", None),
        ("a1 b1 a1 b1 a1 b1 a1", "no_progress"),
        ("a1 a1 a1", "no_progress"),
        ("a1 b1 a1 b2 a1 b3 a1 b4 a1", None),
        ("a1 b1 a1 c1 a1 b1 a1", None),
        ("a1 b1 a1 c1 a1 b1 a1 c1 a1", "no_progress"),
        ("a1 b1 a2 b1 a1 b1 a2 b1 a1", "oscillation"),
        ("a1 b1 a2 b1 a1 b1 a2", "oscillation"),
        ("a1 b1 a2 b1 a1", None),
        ("a1 b1 a2 b2 a1 b3 a2 b4 a1 b5 a2", None),
    ],
)
def test_by_default_only_rounds_in_which_no_stage_gives_a_new_output_are_a_loop(
    history: str, found: str | None
) -> None:
    loop = detect_loop(visits(history), "a", DEFAULT_LOOP_DETECTION)
    assert (loop.kind if loop else None) == found


def test_a_visit_that_closes_no_loop_was_preceded_by_none() -> None:
    records = visits("a1 b1 a1 b1 a1 b1")
    found = [detect_loop(records[:end], records[end - 1].stage, DEFAULT_LOOP_DETECTION) for end in range(1, 7)]
    assert [loop is not None for loop in found] == [False] * 5 + [True]


def test_what_was_found_without_progress_names_the_stage_and_the_limit() -> None:
    loop = detect_loop(visits("a1 b1 a1 b1 a1 b1 a1"), "a", {"no_progress": 2})
    assert loop is not None
    assert loop.description == (
        "stage 'a' was visited 2 times in a row without a new output of it or of any other stage, limit 2"
    )


@pytest.mark.parametrize(("returns", "found"), [(2, True), (3, False)])
def test_stages_that_fail_in_turn_are_a_loop(returns: int, found: bool) -> None:
    records = [failed("ab"[hop % 2], "no route", hop) for hop in range(4)]
    assert (detect_loop(records, "b", {"error_cycle": returns}) is not None) == found


def test_attempts_that_are_retried_are_no_visits() -> None:
    records = [failed("a", "no route", 1, attempt) for attempt in range(1, 9)]
    assert detect_loop(records, "a", {"error_cycle": 2, "semantic_loop": 2}) is None
    records = [failed("ab"[hop % 2], "no route", hop // 2, attempt) for hop in range(3) for attempt in (1, 2)]
    assert detect_loop(records, "a", {"error_cycle": 2, "semantic_loop": 4}) is None


def failing_circle(**settings: Any) -> PipelineBuilder:
    builder = PipelineBuilder(loop_detection=True, max_iterations=99, max_agent_hops=99, **settings)
    return builder.stage("a", error_next="b").stage("b", error_next="a")


def test_stages_whose_error_routes_lead_to_each_other_end_the_run_with_loop_detected() -> None:
    bench = Bench(failing_circle().build())
    bench.request()
    reasons = []
    for _ in range(4):
        bench.fail(error="no such host")
        reasons.append(bench.reason)
    assert reasons == [None, None, None, "loop_detected"]
    assert "'a' and 'b' fail in turn" in str(bench.envelope.terminal_detail)


def test_a_circle_of_failures_gets_the_answer_at_the_limit() -> None:
    bench = Bench(failing_circle(final_stage="z").stage("z").build())
    bench.request()
    while bench.flying.stage != "z":
        bench.fail(error="no such host")
    bench.succeed({"text": "what was found"})
    assert (bench.reason, bench.envelope.outputs["z"]) == ("loop_detected", {"text": "what was found"})


def test_a_failure_that_ends_the_run_anyway_keeps_its_reason() -> None:
    builder = PipelineBuilder(loop_detection=True, max_iterations=99).stage("a", error_next="b")
    bench = Bench(builder.stage("b", default_next="a").build())
    bench.request()
    bench.fail(error="no such host")
    bench.fail(error="no such host")
    assert bench.reason == "internal_error"


def rounds(**settings: Any) -> Bench:
    builder = PipelineBuilder(loop_detection=True, max_iterations=99, max_agent_hops=99, **settings)
    bench = Bench(builder.stage("a", default_next="b").stage("b").rule("again", True, "a").build())
    bench.request()
    return bench


def test_a_circle_without_anything_new_ends_before_it_burns_its_bounds() -> None:
    bench = rounds()
    while bench.reason is None:
        bench.succeed({"same": 1} if bench.flying.stage == "a" else {"again": True})
    assert (bench.reason, bench.envelope.usage.agent_hops) == ("loop_detected", 6)


def test_a_circle_that_brings_something_new_in_each_round_goes_on() -> None:
    bench = rounds()
    for number in range(20):
        bench.succeed({"same": 1})
        bench.succeed({"again": number < 19, "found": number})
    assert bench.reason == "completed"


def test_true_stands_for_the_default_thresholds_and_false_for_none() -> None:
    config = PipelineBuilder(loop_detection=True).stage("a").build()
    assert config.loop_detection == DEFAULT_LOOP_DETECTION
    off = PipelineBuilder(loop_detection=False).stage("a").build()
    assert off.config_hash == PipelineBuilder().stage("a").build().config_hash
