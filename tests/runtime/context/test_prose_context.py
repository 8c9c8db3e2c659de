"""The prose context is frozen and carries all of a step's context."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.runtime.context.prose_context import prose_of
from tests.runtime.context.test_context_models import record, whole

FROZEN_SHA256 = "44c62f8dffbea24b0440485f12dd70809ca6b655973db16f8cffda9dd92d2500"


def test_the_prose_builder_is_as_it_was_before_the_yaml_builder() -> None:
    source = (Path(__file__).parent / "prose_context.py").read_bytes()
    assert hashlib.sha256(source).hexdigest() == FROZEN_SHA256


def test_prose_carries_task_domain_analysis_facts_actions_and_the_step() -> None:
    context = whole()
    text = prose_of(context)
    for expected in (
        "fix C901",
        "- checks pass",
        "step 0",
        "- **Lines:**",
        "Lines 4 to 4 could become a function named `load_rows`",
        "- f has 9 lines (confidence: 100%)",
        "the action `read_file`. It succeeded.",
        "## read_file",
        "`complete` is blocked, because checks fail",
    ):
        assert expected in text


def test_with_the_same_fields_prose_leaves_out_manuals_and_earlier_actions() -> None:
    state = whole().state.changed(recent_actions=tuple(record(step) for step in range(5)))
    context = whole().changed(state=state)
    assert "In step 0" in prose_of(context)
    assert "## read_file" in prose_of(context)
    text = prose_of(context, same_fields=True)
    assert "In step 1" not in text
    assert "In step 2" in text
    assert "- `read_file`: use this action when the following holds: read" in text
