"""Traces that were written and labelled without knowledge of the detector are scored as their labels demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.loops.labelled_traces import load_traces, parse_traces, report, score

TRACES = Path(__file__).with_name("traces")
MIN_FOUND = 0.95

READ_SAME = (
    """{"step": %d, "action": "read_file", "target": "a.py", "parameters": {"path": "a.py"}, "result": "success"}"""
)


def trace_of(label: str, steps: int = 4) -> str:
    reads = ", ".join(READ_SAME % number for number in range(1, steps + 1))
    return f'{{"name": "t", "label": {label}, "steps": [{reads}]}}'


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ('{"kinds": ["identical_action"], "by_step": 3}', "found"),
        ('{"kinds": ["no_progress", "identical_action"], "by_step": 9, "from_step": 3}', "found"),
        ('{"kinds": ["identical_action"], "by_step": 2}', "missed"),
        ('{"kinds": ["identical_action"], "by_step": 9, "from_step": 4}', "false alarm"),
        ('{"kinds": ["oscillation"], "by_step": 3}', "wrong kind"),
        ("null", "false alarm"),
    ],
)
def test_a_trace_is_scored_by_its_first_detection(label: str, wanted: str) -> None:
    (trace,) = parse_traces(trace_of(label))
    assert score(trace)[0] == wanted


def test_a_trace_without_a_loop_is_missed_or_honest() -> None:
    assert score(parse_traces(trace_of("null", steps=2))[0])[0] == "honest"
    assert score(parse_traces(trace_of('{"kinds": ["oscillation"], "by_step": 2}', steps=2))[0])[0] == "missed"


def test_the_report_counts_and_names_what_did_not_come_out_as_labelled() -> None:
    traces = parse_traces(f"[{trace_of('null')}, {trace_of('null', steps=2)}]")
    text = report(traces).splitlines()
    assert text[0].endswith("2 honest; 1 false alarms")
    assert text[1].startswith("t: false alarm: identical_action at step 3")


def test_loops_of_the_labelled_set_are_found_and_honest_work_is_left_alone() -> None:
    traces = load_traces(TRACES)
    if not traces:
        pytest.skip("no labelled traces are there")
    scores = [score(trace)[0] for trace in traces]
    loops = sum(trace.label is not None for trace in traces)
    assert scores.count("false alarm") == 0, report(traces)
    assert scores.count("found") >= MIN_FOUND * loops, report(traces)
