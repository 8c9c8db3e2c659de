"""Each door takes a run mode and hands it to the run; one that the pipeline cannot run in is refused there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from runtime.errors import InputError
from runtime.settings import load_settings
from serve.answer_document import Ask, asked_in
from serve.batch.shared_work import Line
from serve.cli.inputs import checked_run_mode
from serve.runtimes.answering import request_of


def test_a_question_hands_its_run_mode_to_the_request_and_a_resumed_one_has_it_again() -> None:
    request = request_of(Ask("?", "/r", "code_analysis", run_mode="parallel"), {})
    assert request.run_mode == "parallel"
    assert asked_in(request).run_mode == "parallel"
    assert request_of(Ask("?", "/r", "code_analysis"), {}).run_mode is None


def test_a_line_of_a_batch_may_name_a_run_mode_and_one_without_is_written_as_before() -> None:
    line = msgspec.json.decode(b'{"id": "a", "question": "?", "repo": ".", "run_mode": "parallel"}', type=Line)
    assert line.run_mode == "parallel"
    assert msgspec.json.encode(Line("a", "?", ".")) == b'{"id":"a","question":"?","repo":"."}'
    with pytest.raises(msgspec.ValidationError, match="run_mode"):
        msgspec.json.decode(b'{"id": "a", "question": "?", "repo": ".", "run_mode": "sideways"}', type=Line)


def test_the_command_line_refuses_a_run_mode_before_anything_starts(tmp_path: Path) -> None:
    settings = load_settings(None, {"JEEVES_STATE_DIR": str(tmp_path)})
    assert checked_run_mode(None, "code_analysis", settings) is None
    assert checked_run_mode("parallel", "code_analysis", settings) == "parallel"
    with pytest.raises(InputError, match="no run mode is named 'sideways'; known: sequential, parallel"):
        checked_run_mode("sideways", "code_analysis", settings)
    with pytest.raises(InputError, match="'code_analysis_hedged' cannot run sequential"):
        checked_run_mode("sequential", "code_analysis_hedged", settings)
