"""Hooks of agents are coroutine functions; one that is not is refused by name when its agent is made."""

from __future__ import annotations

import functools
from collections.abc import Awaitable
from typing import Any

import pytest

from runtime.agents.capability import AgentHooks, StageContext, StageInput, StageResult
from runtime.errors import SettingsError
from runtime.run.stage_view import StageView
from tests.runtime.kernel.test_agent_step import agent_of


def blocking(*_given: Any) -> Any:
    return StageResult({})


async def awaited(_context: StageContext, _view: StageView, *_given: Any) -> Any:
    return StageResult({})


class Called:
    def __call__(self, *_given: Any) -> Any:
        return StageResult({})


class Awaited:
    async def __call__(self, *_given: Any) -> Any:
        return StageResult({})


def handing_on(context: StageContext, view: StageView) -> Awaitable[StageResult]:
    return awaited(context, view)


@pytest.mark.parametrize(
    ("hooks", "hook"),
    [
        ({"process": blocking}, "process"),
        ({"pre_process": blocking}, "pre_process"),
        ({"post_process": blocking}, "post_process"),
        ({"policy": blocking}, "policy"),
        ({"reasoners": {"rules": awaited, "other": blocking}}, "reasoners['other']"),
        ({"process": lambda context, view: StageResult({})}, "process"),
        ({"process": functools.partial(blocking)}, "process"),
        ({"process": Called()}, "process"),
    ],
    ids=["process", "pre_process", "post_process", "policy", "reasoner", "lambda", "partial", "object"],
)
def test_a_hook_that_is_no_coroutine_function_is_refused_by_name_with_what_mends_it(
    hooks: dict[str, Any], hook: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        agent_of(AgentHooks(**{"process": awaited, **hooks}))
    assert caught.value.message.startswith(f"hook {hook} of agent 'a' in capability 'c' is no coroutine function")
    assert "`async def`" in caught.value.message
    assert (caught.value.values["agent"], caught.value.values["hook"]) == ("a", hook)


@pytest.mark.parametrize(
    "hook",
    [awaited, functools.partial(awaited), Awaited(), handing_on],
    ids=["function", "partial", "object", "lambda"],
)
def test_whatever_can_be_awaited_is_a_hook(hook: Any) -> None:
    assert agent_of(AgentHooks(process=hook))


def test_a_reasoner_beside_others_may_be_a_closure() -> None:
    async def reason(_context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
        return {}

    assert agent_of(AgentHooks(reasoners={"rules": reason}), has_llm=True)
