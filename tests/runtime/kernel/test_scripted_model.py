"""`scripted_runner` with hooks that reason: by rules, or by a model that answers from a script."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents.capability import AgentHooks, StageContext, StageInput
from runtime.errors import ModelDownError, SettingsError
from runtime.llm.messages import Message
from runtime.run.stage_view import StageView
from runtime.testing import ScriptedModel, scripted_runner

PIPELINE = """
name: wording
agents:
  - name: word
    stage_order: 1
    default_next: sign
    has_llm: true
    model_role: writer
    temperature: 0.5
    max_tokens: 20
  - {name: sign, stage_order: 2}
"""


async def by_model(context: StageContext, view: StageView, _given: StageInput) -> dict[str, Any]:
    assert context.llm is not None
    answer = await context.llm.generate([Message("user", view.raw_input)])
    return {"text": answer.text}


async def by_rules(context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
    assert context.llm is None
    return {"text": "as it is"}


WORD = AgentHooks(reasoners={"rules": by_rules, "llm": by_model})


async def test_a_hook_asks_the_scripted_model_with_the_values_of_its_stage() -> None:
    model = ScriptedModel(["well said"])
    kit = scripted_runner(PIPELINE, {"word": WORD, "sign": [{"signed": True}]}, model=model)
    envelope = await kit.run("say it well")
    assert envelope.outputs["word"] == {"text": "well said"}
    (request,) = model.requests
    assert request.messages == (Message("user", "say it well"),)
    assert (request.sampling.temperature, request.sampling.max_tokens) == (0.5, 20)
    assert kit.agents["sign"].calls == 1
    assert envelope.usage.llm_calls == 1


async def test_a_run_fails_by_a_model_that_does_not_answer() -> None:
    model = ScriptedModel([ModelDownError("away", permanent=True)])
    envelope = await scripted_runner(PIPELINE, {"word": WORD, "sign": [{}]}, model=model).run()
    assert envelope.terminal_reason != "completed"
    assert "away" in str(envelope.history[0].error)


async def test_without_a_model_the_rules_reason() -> None:
    envelope = await scripted_runner(PIPELINE, {"word": WORD, "sign": [{}]}).run()
    assert envelope.outputs["word"] == {"text": "as it is"}


def test_hooks_that_only_a_model_serves_are_refused_without_one() -> None:
    with pytest.raises(SettingsError, match="has no reasoner 'rules'; it has llm"):
        scripted_runner(PIPELINE, {"word": AgentHooks(reasoners={"llm": by_model}), "sign": [{}]})


async def test_a_script_for_a_stage_with_a_model_is_played_beside_one() -> None:
    model = ScriptedModel(["never asked"])
    envelope = await scripted_runner(PIPELINE, {"word": [{"text": "played"}], "sign": [{}]}, model=model).run()
    assert envelope.outputs["word"] == {"text": "played"}
    assert model.requests == []
