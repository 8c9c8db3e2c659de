"""Hooks that are imported with their agent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.agents.capability import AgentHooks, Capability
from runtime.agents.declared_hooks import DeclaredHooks
from runtime.errors import SettingsError

MODULE = """
from runtime.agents.capability import AgentHooks, StageResult
async def work(context, view):
    return StageResult({})
HOOKS = AgentHooks(process=work)
"""


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeclaredHooks:
    for name in ("cutter", "painter"):
        (tmp_path / f"{name}_of_this_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return DeclaredHooks(
        {
            "cut": "cutter_of_this_test:HOOKS",
            "paint": "painter_of_this_test:HOOKS",
            "lose": "nowhere_at_all:HOOKS",
            "err": "cutter_of_this_test:MODULE",
        }
    )


def test_the_hooks_of_one_agent_are_imported_and_no_others(named: DeclaredHooks) -> None:
    hooks = Capability("shop", agents=named).agents["cut"]
    assert isinstance(hooks, AgentHooks)
    assert "cutter_of_this_test" in sys.modules
    assert "painter_of_this_test" not in sys.modules
    del sys.modules["cutter_of_this_test"]


def test_agents_are_listed_without_an_import_and_an_unknown_one_has_no_hooks(named: DeclaredHooks) -> None:
    assert sorted(named) == ["cut", "err", "lose", "paint"]
    assert len(named) == 4
    assert named.get("sell") is None
    assert "cutter_of_this_test" not in sys.modules


@pytest.mark.parametrize("agent", ["lose", "err"])
def test_hooks_that_cannot_be_loaded_are_told_with_their_agent_and_place(named: DeclaredHooks, agent: str) -> None:
    with pytest.raises(SettingsError, match=rf"the hooks of agent '{agent}' '\w+:\w+' cannot be loaded"):
        _ = named[agent]
