"""Runs that repeat themselves are ended before they burn their bounds."""

from __future__ import annotations

from typing import Any

import pytest

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
