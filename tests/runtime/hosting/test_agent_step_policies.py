"""Policies: a hook judges a stage's result before it takes effect, from the hook to the end of the run."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from runtime.agents.capability import StageContext, StageResult
from runtime.agents.stage_runner import MAX_ERROR_CHARACTERS
from runtime.errors import SettingsError, StageError
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView
from runtime.supervision.events import EVENT_CODEC
from runtime.testing import PipelineBuilder, hang
from tests.runtime.hosting.hosted import Hosted, wire

CONFIG = PipelineBuilder().stage("act", has_policies=True, default_next="after").stage("after").build()


def kit_with(verdict: Any, config: Any = CONFIG) -> Hosted:
    """A run whose policy returns or raises `verdict`."""

    async def policy(_context: StageContext, _view: StageView, _result: StageResult) -> Any:
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict

    return Hosted(config, {"act": [{"acted": True}], "after": [{}]}, {"act": policy})


async def asked(kit: Hosted) -> RunId:
    """A run that waits for the confirmation which its policy wants."""
    run_id = await kit.submit(wait=True)
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    return run_id


async def answered(kit: Hosted, run_id: RunId, **response: Any) -> Envelope:
    await kit.runner.answer(run_id, f"{run_id}-q1", "local", InterruptResponse(**response))
    return await kit.settle(run_id)


async def test_an_approved_result_takes_effect() -> None:
    envelope = await kit_with(PolicyVerdict("approved")).run()
    assert (envelope.terminal_reason, envelope.outputs) == ("completed", {"act": {"acted": True}, "after": {}})


async def test_a_denied_result_takes_no_effect_and_ends_the_run_with_the_reason() -> None:
    kit = kit_with(PolicyVerdict("denied", "not on a Sunday"))
    envelope = await kit.run(wait=True)
    assert envelope.terminal_reason == "denied_by_policy"
    assert envelope.terminal_detail == "stage 'act': not on a Sunday"
    assert envelope.outputs == {}
    assert kit.agents["after"].calls == 0


async def test_a_result_that_needs_a_word_has_no_effect_until_it_is_given() -> None:
    kit = kit_with(PolicyVerdict("requires_confirmation", "Delete all?"))
    run_id = await asked(kit)
    waiting = kit.runner.envelope(run_id)
    assert waiting.interrupt is not None
    assert (waiting.interrupt.kind, waiting.interrupt.question) == ("confirmation", "Delete all?")
    assert (waiting.outputs, kit.agents["after"].calls) == ({}, 0)
    envelope = await answered(kit, run_id, approved=True)
    assert (envelope.terminal_reason, envelope.outputs) == ("completed", {"act": {"acted": True}, "after": {}})
    assert kit.agents["act"].calls == 1


@pytest.mark.parametrize("response", [{"approved": False}, {}, {"text": "yes"}, {"decision": "approve"}])
async def test_anything_but_a_yes_denies(response: dict[str, Any]) -> None:
    kit = kit_with(PolicyVerdict("requires_confirmation", "Delete all?"))
    envelope = await answered(kit, await asked(kit), **response)
    assert envelope.terminal_reason == "denied_by_policy"
    assert envelope.terminal_detail == "the answer to 'Delete all?' was no"
    assert envelope.outputs == {}


async def test_a_caller_who_does_not_wait_is_told_that_a_confirmation_is_needed() -> None:
    kit = kit_with(PolicyVerdict("requires_confirmation", "Delete all?"))
    envelope = await kit.run(wait=False)
    assert (envelope.terminal_reason, envelope.terminal_detail) == ("confirmation_required", "Delete all?")
    assert envelope.outputs == {}
    assert kit.agents["after"].calls == 0


@pytest.mark.parametrize("expiry", ["end", "proceed"])
async def test_a_confirmation_that_nobody_gives_is_no_approval(expiry: str) -> None:
    config = PipelineBuilder(interrupt_expiry={"confirmation": expiry}).stage("act", has_policies=True).build()
    kit = Hosted(config, {"act": [{}]}, {"act": _wants_a_word})
    run_id = await kit.submit(wait=True)
    await kit.clock.advance(3599.9)
    assert kit.runner.envelope(run_id).lifecycle == "waiting"
    await kit.clock.advance(0.1)
    assert kit.runner.envelope(run_id).terminal_reason == "interrupt_expired"
    assert kit.runner.envelope(run_id).outputs == {}


async def _wants_a_word(*_given: Any) -> PolicyVerdict:
    return PolicyVerdict("requires_confirmation")


async def test_a_policy_that_gives_no_reason_is_put_as_a_question_with_the_stages_name() -> None:
    kit = kit_with(PolicyVerdict("requires_confirmation"))
    assert (await kit.run()).terminal_detail == "May stage 'act' go ahead?"
    assert (await kit_with(PolicyVerdict("denied")).run()).terminal_detail == "stage 'act': denied"


def test_a_pipeline_that_wants_policies_is_refused_when_the_capability_has_none() -> None:
    with pytest.raises(SettingsError, match="agent 'act' has policies, but no `policy` hook"):
        Hosted(CONFIG, {"act": [{}], "after": [{}]})


async def test_a_policy_that_no_pipeline_asks_for_judges_nothing() -> None:
    config = PipelineBuilder().stage("act", default_next="after").stage("after").build()
    assert (await kit_with(PolicyVerdict("denied"), config).run()).terminal_reason == "completed"


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (None, "the policy returned a NoneType, not a PolicyVerdict"),
        (True, "the policy returned a bool, not a PolicyVerdict"),
        ("approved", "the policy returned a str, not a PolicyVerdict"),
        ({"decision": "approved"}, "the policy returned a dict, not a PolicyVerdict"),
        (PolicyVerdict("maybe"), "the policy's verdict cannot be put on the wire: Invalid enum value 'maybe'"),  # type: ignore[arg-type]
        (PolicyVerdict("approved", object()), "the policy's verdict cannot be put on the wire"),  # type: ignore[arg-type]
        (PolicyVerdict("approved", 7), "the policy's verdict cannot be put on the wire"),  # type: ignore[arg-type]
        (StageError("no idea"), "no idea"),
        (ValueError("odd"), "ValueError: odd"),
        (asyncio.CancelledError(), "though the stage was not"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_policy_that_misbehaves_fails_its_stage_and_lets_nothing_through(
    verdict: Any, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    kit = kit_with(verdict)
    with caplog.at_level(logging.CRITICAL):
        envelope = await kit.run(wait=True)
    assert envelope.terminal_reason == "internal_error"
    assert says in str(envelope.terminal_detail)
    assert envelope.outputs == {}
    assert kit.agents["after"].calls == 0


@pytest.mark.parametrize("decision", ["approved", "denied", "requires_confirmation"])
async def test_what_a_policy_says_can_be_recorded_whatever_text_it_is(decision: Any) -> None:
    kit = kit_with(PolicyVerdict(decision, "caf\udce9 " + "x" * 100_000))
    envelope = await kit.run()
    kept = wire(kit.log.events(envelope.run_id))
    assert [EVENT_CODEC.decode(event).seq for event in kept] == list(range(1, len(kept) + 1))
    assert len(str(envelope.terminal_detail)) <= MAX_ERROR_CHARACTERS + 100


async def test_a_policy_that_hangs_is_cut_off_at_the_stages_timeout() -> None:
    async def never(context: StageContext, view: StageView, _result: StageResult) -> Any:
        return await hang(context, view)

    config = PipelineBuilder().stage("act", has_policies=True, timeout_s=5).build()
    kit = Hosted(config, {"act": [{}]}, {"act": never})
    run_id = await kit.submit()
    await kit.clock.advance(4.9)
    assert kit.runner.envelope(run_id).lifecycle == "running"
    await kit.clock.advance(0.1)
    assert kit.runner.envelope(run_id).terminal_reason == "tool_failed_recoverably"


async def test_a_policy_sees_what_the_stage_saw_and_what_it_wants_to_write() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def look(_context: StageContext, view: StageView, result: StageResult) -> PolicyVerdict:
        seen.append((view.raw_input, result.output))
        return PolicyVerdict("approved")

    kit = Hosted(CONFIG, {"act": [{"pair": (1, 2)}], "after": [{}]}, {"act": look})
    await kit.run("delete")
    assert seen == [("delete", {"pair": [1, 2]})]


@pytest.mark.parametrize(
    ("decisions", "reason"),
    [
        (["approved", "approved"], "completed"),
        (["approved", "requires_confirmation"], "confirmation_required"),
        (["requires_confirmation", "denied"], "denied_by_policy"),
    ],
)
async def test_of_the_verdicts_on_the_items_of_a_fan_out_the_strictest_holds(decisions: list[Any], reason: str) -> None:
    async def judge(_context: StageContext, view: StageView, _result: StageResult) -> PolicyVerdict:
        return PolicyVerdict(decisions[view.item_index or 0])

    config = PipelineBuilder().stage("list", default_next="each")
    config.stage("each", foreach="outputs.list.items", has_policies=True)
    kit = Hosted(config.build(), {"list": [{"items": [1, 2]}], "each": [{}]}, {"each": judge})
    assert (await kit.run()).terminal_reason == reason
