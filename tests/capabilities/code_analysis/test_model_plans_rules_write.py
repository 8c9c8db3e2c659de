"""A model plans with steps of its own names, and the rules write: what they write does not depend on those names."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.llm.scripted import ScriptedModel
from tests.capabilities.code_analysis.model_desk import ModelDesk, by_agent
from tests.capabilities.code_analysis.support import AnalysisHarness, write_files

FILES = {
    "README.md": "# Fleet\n\nA fleet carries parcels.\n",
    "docs/carriers.md": "# Carriers\n\n- `Bike`: for letters\n- `Van`: for parcels\n- `Ship`: for the rest\n",
    "docs/extending.md": "# Extending\n\n## Add a carrier\n\n"
    "To add a new carrier, derive from `Base` and enter it in `FLEET`.\n",
    "fleet/carriers.py": '''"""What carries."""


class Bike:
    """Carries letters."""

    def load(self) -> None:
        """Take a letter."""

    def ring(self) -> None:
        """Ring the bell."""


class Van:
    """Carries parcels."""

    def load(self) -> None:
        """Take a parcel."""

    def honk(self) -> None:
        """Sound the horn."""
''',
    "fleet/signals.py": '''"""What makes itself heard."""


class Signal:
    """Makes itself heard."""


class Bell(Signal):
    """Rings."""
''',
    "fleet/more/horns.py": '''"""Horns."""

from fleet.signals import Signal


class Horn(Signal):
    """Honks."""
''',
    "fleet/settings.py": '''"""What can be set."""

PATIENCE_S = 30
MOST_TRIES = 3
''',
    "fleet/waiting.py": '''"""Waits."""


def wait_for_answer(seconds: int) -> None:
    """Wait as long as the timeout says."""


def wait_for_van(seconds: int) -> None:
    """Wait until the van is there."""
''',
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    root = tmp_path_factory.mktemp("fleet") / "repo"
    write_files(root, FILES)
    return asyncio.run(AnalysisHarness.open(root, tmp_path_factory.mktemp("fleet-state")))


def step(tool: str, target: str, *goals: str) -> dict[str, Any]:
    """One step as a model writes it; the planner names it `m0`, `m1`, …"""
    return {"tool": tool, "target": target, "options": [], "goals": list(goals), "why": ""}


async def asked(desk: AnalysisHarness, question: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """The answer where a model plans so, and rules do everything else."""
    only_plans = dict.fromkeys(("intent", "synthesizer", "critic"), "-")
    plan = {"steps": list(steps), "feasibility": 90}
    document = await ModelDesk(desk, ScriptedModel([by_agent({**only_plans, "planner": plan})])).ask(
        question, explain=True
    )
    assert {record["agent"] for record in document["rules_took_over"]} == set(only_plans)
    planned = list(document["attempts"][0]["steps"])
    assert planned[: len(steps)] == [f"m{number}" for number in range(len(steps))]
    return document


async def test_members_of_what_is_compared_are_told_apart(fleet: AnalysisHarness) -> None:
    searches = (step("locate", "Bike"), step("locate", "Van"))
    document = await asked(fleet, "Compare `Bike` and `Van`", *searches, step("map_module", "fleet/carriers.py"))
    assert "Both `Bike` and `Van` define `load`" in document["answer"]
    assert "Only `Van` itself defines `honk`" in document["answer"]


async def test_all_of_a_kind_are_listed(fleet: AnalysisHarness) -> None:
    document = await asked(fleet, "List all functions", step("locate", "functions"))
    assert "2 found" in document["answer"]
    assert "`wait_for_van`" in document["answer"]


async def test_what_is_declared_on_top_of_a_type_is_listed(fleet: AnalysisHarness) -> None:
    document = await asked(fleet, "List all signals", step("explore_symbol_usage", "Signal"))
    assert "`class Horn(Signal):`" in document["answer"]


async def test_what_a_document_lists_is_shown(fleet: AnalysisHarness) -> None:
    document = await asked(
        fleet, "List all carriers", step("locate", "carriers"), step("read_code", "docs/carriers.md")
    )
    assert "`docs/carriers.md` lists:" in document["answer"]


async def test_what_a_guide_says_is_cited(fleet: AnalysisHarness) -> None:
    document = await asked(
        fleet, "How do I add a new carrier?", step("locate", "carrier"), step("read_code", "docs/extending.md")
    )
    assert "[docs/extending.md:1-5]" in document["answer"]
    assert "docs/extending.md" in {citation["file"] for citation in document["citations"]}


async def test_what_a_search_for_settings_found_is_told(fleet: AnalysisHarness) -> None:
    searches = (step("locate", "timeout"), step("locate", "PATIENCE_S MOST_TRIES", "configuration"))
    document = await asked(fleet, "How is the timeout configured?", *searches)
    told = [finding["text"] for finding in document["findings"] if "configured" in finding["goal"]]
    assert any("`fleet/settings.py`" in text for text in told), told
