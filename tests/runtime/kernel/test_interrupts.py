"""Interrupts by themselves: how long they stay open, who may answer, what an answer means."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS, InterruptKind
from runtime.run.envelope import Interrupt, InterruptResponse, TerminalReason
from runtime.run.interrupts import REASON_WITHOUT_WAITING, missing_from_response, outcome, refusal

KINDS: tuple[InterruptKind, ...] = typing.get_args(InterruptKind)
MINUTE_MS = 60_000


def test_every_kind_has_its_time_to_live() -> None:
    minutes = {kind: life_ms and life_ms / MINUTE_MS for kind, life_ms in TIME_TO_LIVE_MS.items()}
    assert minutes == {
        "clarification": 24 * 60,
        "confirmation": 60,
        "agent_review": 30,
        "checkpoint": None,
        "resource_exhausted": 5,
        "timeout": 5,
        "system_error": 60,
    }


def test_every_kind_has_a_terminal_reason_for_callers_that_do_not_wait() -> None:
    assert set(REASON_WITHOUT_WAITING) == set(KINDS)
    assert set(REASON_WITHOUT_WAITING.values()) <= set(typing.get_args(TerminalReason))


def asked(**fields: Any) -> Interrupt:
    return Interrupt(**{"id": "r-1-q2", "kind": "confirmation", "question": "?", "expires_at_ms": 1_000, **fields})


@pytest.mark.parametrize(
    ("interrupt", "interrupt_id", "user_id", "at_ms", "expected"),
    [
        (asked(), "r-1-q2", "ann", 999, None),
        (asked(), "r-1-q2", "ann", 1_000, "interrupt r-1-q2 expired 0 s ago"),
        (asked(), "r-1-q2", "ann", 1_001, "interrupt r-1-q2 expired 0.001 s ago"),
        (asked(expires_at_ms=None), "r-1-q2", "ann", 10**15, None),
        (asked(), "r-1-q1", "ann", 0, "interrupt r-1-q1 is not open; r-1-q2 is"),
        (None, "r-1-q1", "ann", 0, "interrupt r-1-q1 is not open"),
        (asked(status="resolved"), "r-1-q1", "ann", 0, "interrupt r-1-q1 is not open"),
        (asked(status="resolved"), "r-1-q2", "ann", 0, "interrupt r-1-q2 is resolved already"),
        (asked(status="expired"), "r-1-q2", "ann", 0, "interrupt r-1-q2 is expired already"),
        (asked(), "r-1-q2", "eve", 0, "interrupt r-1-q2 belongs to user 'ann', not to 'eve'"),
    ],
)
def test_an_answer_is_refused_with_a_reason_that_names_what_is_wrong(
    interrupt: Interrupt | None, interrupt_id: str, user_id: str, at_ms: int, expected: str | None
) -> None:
    assert refusal(interrupt, interrupt_id, user_id, "ann", at_ms) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("response", "goes_on"),
    [
        (InterruptResponse("yes"), {"clarification", "checkpoint"}),
        (InterruptResponse(approved=False, decision="reject"), {"clarification", "checkpoint"}),
        (
            InterruptResponse(approved=True),
            {"clarification", "checkpoint", "confirmation", "resource_exhausted", "timeout", "system_error"},
        ),
        (InterruptResponse(decision="approve"), {"clarification", "checkpoint", "agent_review"}),
        (InterruptResponse(decision="modify"), {"clarification", "checkpoint", "agent_review"}),
    ],
)
def test_only_a_clear_yes_lets_a_question_of_yes_or_no_go_on(
    kind: InterruptKind, response: InterruptResponse, goes_on: set[str]
) -> None:
    assert outcome(kind, response) == ("go_on" if kind in goes_on else "denied")


@pytest.mark.parametrize(
    ("kind", "enough", "too_little"),
    [
        ("clarification", {"text": "x"}, {"text": " ", "approved": True}),
        ("confirmation", {"approved": False}, {"text": "yes", "decision": "approve"}),
        ("agent_review", {"decision": "modify"}, {"approved": True}),
        ("timeout", {"approved": True}, {}),
        ("system_error", {"approved": True}, {"text": "x"}),
        ("resource_exhausted", {"approved": True}, {}),
    ],
)
def test_an_answer_that_does_not_say_what_was_asked_lacks_something(
    kind: InterruptKind, enough: dict[str, Any], too_little: dict[str, Any]
) -> None:
    assert missing_from_response(kind, InterruptResponse(**enough)) is None
    assert "answered with" in str(missing_from_response(kind, InterruptResponse(**too_little)))


def test_a_paused_run_needs_no_words_to_go_on() -> None:
    assert missing_from_response("checkpoint", InterruptResponse()) is None
