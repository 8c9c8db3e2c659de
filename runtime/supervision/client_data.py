"""Declares what the events of a run carry as `data` for callers: fields, types and meanings.

The kernel makes its events of these forms, so that the reference, which is generated from them, tells what is sent.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.ids import GoalId
from runtime.run.bounds import CountedBound
from runtime.run.envelope import ClosedStatus, HistoryStatus, TerminalReason
from runtime.run.goals import GoalStatus
from runtime.supervision.commands import ClientEventType

WarnedBound = CountedBound | Literal["deadline", "latency_budget_ms"]


def _told(meaning: str) -> msgspec.Meta:
    return msgspec.Meta(description=meaning)


class AcceptedData(TypedDict):
    """Reports that the run was accepted and is on disk; it begins when there is room for it."""

    pipeline: Annotated[str, _told("name of the pipeline")]
    question: Annotated[str, _told("first 500 characters of the question")]


class StageStartedData(TypedDict):
    """Reports that an agent has begun to work on a stage."""

    attempt: Annotated[int, _told("1, and one more each time the same visit is tried or issued again")]


class StageFinishedData(TypedDict):
    """Reports that an attempt of a stage is over, with or without a result."""

    status: Annotated[HistoryStatus, _told("how it ended; only `success` has a result")]
    duration_ms: Annotated[int, _told("time since the stage was issued to its agent")]
    tool_calls: Annotated[int, _told("tool calls that count against the bounds")]
    item: NotRequired[Annotated[int, _told("index of the item, of a stage that runs once for each item of a list")]]
    error: NotRequired[Annotated[str, _told("why there is no result")]]
    fault: NotRequired[Annotated[str, _told("what the agent reported of its spending that cannot be true")]]
    output: NotRequired[Annotated[dict[str, Any], _told("result, for callers that asked with `outputs`")]]
    output_bytes: NotRequired[Annotated[int, _told("size of a result that is too large to be sent along")]]


class ToolCalledData(TypedDict):
    """Reports a tool call of a stage at work, once it is over."""

    tool: Annotated[str, _told("name of the tool")]
    status: Annotated[
        str, _told("`ok`, `partial`, `empty`, `not_found`, `unsupported`, `denied`, `timeout` or `error`")
    ]
    duration_ms: Annotated[int, _told("how long it took")]


class GoalForm(TypedDict):
    """Describes one goal of a run."""

    id: Annotated[GoalId, _told("id within the run")]
    text: Annotated[str, _told("what is to be found out")]
    status: Annotated[GoalStatus, _told("state of the search for it")]


class GoalsChangedData(TypedDict):
    """Reports the goals as they are now, all of them."""

    round: Annotated[int, _told("number of the round")]
    goals: Annotated[list[GoalForm], _told("the goals in their order")]


class BoundWarnedData(TypedDict):
    """Warns once for each bound that 80 % of it is used, or of a visit that takes longer than it should."""

    bound: Annotated[WarnedBound, _told("which bound")]
    allowed: NotRequired[Annotated[int, _told("latency budget of the agent, of `latency_budget_ms` alone")]]


class InterruptRaisedData(TypedDict):
    """Shows the question that the run waits with; a fork of a waiting run shows it again."""

    kind: Annotated[InterruptKind, _told("what is asked; it decides which answers are allowed")]
    question: Annotated[str, _told("the question")]
    message: NotRequired[Annotated[str, _told("further explanation")]]
    data: NotRequired[Annotated[dict[str, Any], _told("what the question is about, such as the text to review")]]
    id: Annotated[str, _told("id that the answer names")]
    expires_at_ms: NotRequired[Annotated[int, _told("when it expires, in ms since 1970; without it: never")]]


class InterruptResolvedData(TypedDict):
    """Reports that the question is no longer open."""

    id: Annotated[str, _told("id of the question")]
    status: Annotated[ClosedStatus, _told("what became of it")]


class TextSnapshotData(TypedDict):
    """Shows all of the text that a stage has written so far. It is not checked and may be replaced."""

    text: Annotated[str, _told("text so far, at most 8,000 characters")]
    draft: Annotated[int, _told("number of the draft; another number begins another text")]
    item: Annotated[int, _told("index of the item, 0 unless the stage runs once for each item of a list")]
    provisional: Annotated[Literal[True], _told("always true: the text is no answer")]


class TextDeltaData(TypedDict):
    """Continues the text of a draft."""

    at: Annotated[int, _told("how many characters of the draft stand before it")]
    text: Annotated[str, _told("what follows them")]
    draft: Annotated[int, _told("number of the draft that it continues")]
    item: Annotated[int, _told("index of the item, as in `text.snapshot`")]
    provisional: Annotated[Literal[True], _told("always true: the text is no answer")]


class FinishedData(TypedDict):
    """Reports that the run is over, and why. No event follows."""

    terminal_reason: Annotated[TerminalReason, _told("why it ended")]
    detail: Annotated[str | None, _told("the reason in a sentence, with actual and allowed values")]


CLIENT_DATA: dict[ClientEventType, type] = {
    "run.accepted": AcceptedData,
    "stage.started": StageStartedData,
    "stage.finished": StageFinishedData,
    "tool.called": ToolCalledData,
    "goals.changed": GoalsChangedData,
    "bound.warned": BoundWarnedData,
    "interrupt.raised": InterruptRaisedData,
    "interrupt.resolved": InterruptResolvedData,
    "text.snapshot": TextSnapshotData,
    "text.delta": TextDeltaData,
    "run.finished": FinishedData,
}
