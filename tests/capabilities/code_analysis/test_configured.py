"""Where a thing is configured: values by their names, attributes with the defaults of their class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, mark_faults, write_files
from tests.repositories import repository_files

YARD = {**FILES, **repository_files("yard")}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", YARD)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


async def asked(desk: AnalysisHarness, question: str) -> str:
    document = await desk.ask(question)
    assert not mark_faults(document["answer"], document["citations"])
    assert not document["open_goals"]
    return str(document["answer"])


async def test_a_setting_is_found_by_the_words_of_its_name(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the maximum number of carts configured?")
    assert answer.startswith("`yard/limits.py`: «How many carts may stand in the yard.» [yard/limits.py:1-3]")
    assert "```\nMAX_CARTS = 12\n```" in answer
    assert "MIN_WHEELS" not in answer


async def test_an_attribute_comes_with_the_default_of_its_class_and_without_what_has_less_of_the_words(
    desk: AnalysisHarness,
) -> None:
    answer = await asked(desk, "Where is the creak url configured?")
    assert answer.startswith("`Gate` in `yard/gate.py` [yard/gate.py:1-11]")
    shown = answer.split("```")[1]
    assert 'def __init__(self, *, stray=None, creak_url: str = "/creak"):' in shown
    assert "Sign" not in shown


async def test_the_default_of_a_named_attribute_is_told_by_the_lines_that_give_it(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is `creak_url` configured?")
    assert '`Gate.__init__`: `def __init__(self, *, stray=None, creak_url: str = "/creak"):`' in answer
    assert "Sign" not in answer


async def test_of_attributes_of_one_name_that_of_a_class_for_options_leads(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is the stray option configured?")
    assert answer.startswith("`GateOptions` in `yard/options.py`")
    assert 'self.stray = getattr(meta, "stray", "keep")' in answer.split("```")[1]
    assert "- `Gate`: `def __init__(self, *, stray=None" in answer


async def test_a_setting_of_an_object_is_shown_where_it_is_given_its_value(desk: AnalysisHarness) -> None:
    document = await desk.ask("Where is the glow setting configured?")
    assert document["answer"].startswith("`Lamp` in `yard/lamp.js` [yard/lamp.js:1-9]")
    assert "this.glow = options.glow || 1;" in document["answer"].split("```")[1]
    assert not mark_faults(document["answer"], document["citations"])


async def test_a_named_field_that_no_grammar_defines_is_told_by_the_line_that_sets_it(desk: AnalysisHarness) -> None:
    answer = await asked(desk, "Where is `glow` set?")
    assert "`Lamp.constructor`: `this.glow = options.glow || 1;` [yard/lamp.js:3]" in answer
